import Base
import FoundationEssentials
import Posix
import Testing

/// A value of a file with test vectors. A missing one is an error at the place of its use.
public enum VectorValue: Decodable, Sendable {
    case text(String)
    case number(Int)
    case flag(Bool)
    case list([VectorValue])
    case object([String: VectorValue])

    /// Opens `Resources/FOLDER/NAME.json` next to the test's source.
    public static func file(
        _ name: String, in folder: String = "smp", besides source: String = #filePath
    ) throws -> VectorValue {
        try JSONDecoder().decode(VectorValue.self, from: Data(bytes(name, in: folder, besides: source)))
    }

    /// The same by path. `Bundle` would need all of Foundation.
    public static func bytes(
        _ name: String, in folder: String, besides source: String = #filePath
    ) throws -> [UInt8] {
        let tests = source.split(separator: "/").dropLast().joined(separator: "/")
        return try OpenFile("/\(tests)/Resources/\(folder)/\(name).json", flags: 0)
            .readAll(limit: 16 << 20)
    }

    public init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if let text = try? value.decode(String.self) {
            self = .text(text)
        } else if let flag = try? value.decode(Bool.self) {
            self = .flag(flag)
        } else if let number = try? value.decode(Int.self) {
            self = .number(number)
        } else if let list = try? value.decode([VectorValue].self) {
            self = .list(list)
        } else {
            self = .object(try value.decode([String: VectorValue].self))
        }
    }

    public subscript(name: String) -> VectorValue {
        get throws {
            guard case .object(let members) = self, let value = members[name] else {
                throw Missing(name: name)
            }
            return value
        }
    }

    public subscript(index: Int) -> VectorValue {
        get throws {
            guard case .list(let values) = self, values.indices.contains(index) else {
                throw Missing(name: "\(index)")
            }
            return values[index]
        }
    }

    public var text: String {
        get throws {
            guard case .text(let text) = self else { throw Missing(name: "text") }
            return text
        }
    }

    public var number: Int {
        get throws {
            guard case .number(let number) = self else { throw Missing(name: "number") }
            return number
        }
    }

    public var list: [VectorValue] {
        get throws {
            guard case .list(let values) = self else { throw Missing(name: "list") }
            return values
        }
    }

    public var members: [String: VectorValue] {
        get throws {
            guard case .object(let members) = self else { throw Missing(name: "object") }
            return members
        }
    }

    /// The bytes of hexadecimal text.
    public var bytes: [UInt8] {
        get throws { try #require(Hexadecimal.decode(try text)) }
    }

    /// Compares with a value that the file describes by its length, its ends and its SHA-256.
    public func describes(_ bytes: [UInt8], sha256: ([UInt8]) -> [UInt8]) throws -> Bool {
        let (length, begin, end) = (
            try self["length"].number, try self["first96"].bytes, try self["last32"].bytes
        )
        return try bytes.count == length && bytes.starts(with: begin) && bytes.suffix(32).elementsEqual(end)
            && sha256(bytes) == self["sha256"].bytes
    }

    private struct Missing: Error {
        let name: String
    }
}
