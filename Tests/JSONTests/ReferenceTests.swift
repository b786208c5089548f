import TestSupport
import Testing

@testable import JSON

/// The test's own form of a value, independent of the reader.
private indirect enum Model: Equatable {
    case null
    case bool(Bool)
    case number(Int64)
    case string(String)
    case array([Model])
    case object([Member])

    struct Member: Equatable {
        var name: String
        var value: Model
    }

    static func random(_ depth: Int, using random: inout SeededGenerator) -> Model {
        switch Int.random(in: 0..<(depth > 0 ? 6 : 4), using: &random) {
        case 0: return .null
        case 1: return .bool(Bool.random(using: &random))
        case 2:
            let edges: [Int64] = [0, -1, 9, 10, .max, .min, .max - 1, .min + 1]
            let any = Int64.random(in: .min ... .max, using: &random)
            return .number(Bool.random(using: &random) ? any : edges.randomElement(using: &random) ?? any)
        case 3: return .string(text(using: &random))
        case 4:
            return .array(
                (0..<Int.random(in: 0..<5, using: &random)).map { _ in
                    Model.random(depth - 1, using: &random)
                })
        default:
            return .object(
                (0..<Int.random(in: 0..<5, using: &random)).map { number in
                    Member(
                        name: text(using: &random) + "\(number)",
                        value: Model.random(depth - 1, using: &random))
                })
        }
    }

    private static func text(using random: inout SeededGenerator) -> String {
        let alphabet = Array("ab{}[],:\"\\/\n\t\u{1}\u{7F}é\u{2028}葛😀 ".unicodeScalars)
        let scalars = (0..<Int.random(in: 0..<8, using: &random)).compactMap { _ in
            alphabet.randomElement(using: &random)
        }
        return String(String.UnicodeScalarView(scalars))
    }

    /// Writes with random white space and escapes.
    func text(using random: inout SeededGenerator) -> String {
        func space() -> String { ["", "", " ", "\n\t", "\r "].randomElement(using: &random) ?? "" }
        let body: String
        switch self {
        case .null: body = "null"
        case .bool(let isTrue): body = isTrue ? "true" : "false"
        case .number(let number): body = String(number)
        case .string(let string): body = Self.quoted(string, using: &random)
        case .array(let elements):
            body = "[" + elements.map { $0.text(using: &random) }.joined(separator: ",") + space() + "]"
        case .object(let members):
            let pairs = members.map { member in
                space() + Self.quoted(member.name, using: &random) + space() + ":"
                    + member.value.text(using: &random)
            }
            body = "{" + pairs.joined(separator: ",") + space() + "}"
        }
        return space() + body + space()
    }

    private static func quoted(_ string: String, using random: inout SeededGenerator) -> String {
        var text = "\""
        for scalar in string.unicodeScalars {
            let mustBeEscaped = scalar.value < 0x20 || scalar == "\"" || scalar == "\\"
            guard mustBeEscaped || Int.random(in: 0..<4, using: &random) == 0 else {
                text.unicodeScalars.append(scalar)
                continue
            }
            for unit in String(scalar).utf16 {
                let digits = String(unit, radix: 16, uppercase: Bool.random(using: &random))
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }
        }
        return text + "\""
    }

    /// Converts a parsed value.
    init?(_ value: JSONValue) {
        if value.isNull {
            self = .null
        } else if let bool = value.bool {
            self = .bool(bool)
        } else if let number = value.integer {
            self = .number(number)
        } else if let string = value.string {
            self = .string(string)
        } else if value.isObject {
            self = .object(
                value.members.compactMap { member in
                    Model(member.value).map { Member(name: member.name, value: $0) }
                })
        } else {
            self = .array(value.elements.compactMap(Model.init))
        }
    }
}

@Suite("JSON compared with a model")
struct ReferenceTests {
    @Test("documents of any spelling equal their model", arguments: 0..<8)
    func documents(seed: UInt64) throws {
        var random = SeededGenerator(state: seed)
        for _ in 0..<60 {
            let model = Model.random(5, using: &random)
            let text = model.text(using: &random)
            let value = try #require(JSONValue.parse(Array(text.utf8)), "\(text)")
            #expect(Model(value) == model, "\(text)")
        }
    }

    @Test("truncated and extended documents are rejected", arguments: 0..<4)
    func cut(seed: UInt64) {
        var random = SeededGenerator(state: 100 + seed)
        for _ in 0..<10 {
            let model = Model.array([Model.random(3, using: &random)])
            let bytes = Array(model.text(using: &random).utf8)
            guard let end = bytes.lastIndex(of: UInt8(ascii: "]")) else { continue }
            for count in 0...end { #expect(JSONValue.parse(Array(bytes[..<count])) == nil) }
            for more in ["]", ",", "1", "{}", "\u{0}", "/"] {
                #expect(JSONValue.parse(bytes + Array(more.utf8)) == nil)
            }
        }
    }

    @Test("changed bytes give another value or none")
    func changed() {
        var random = SeededGenerator(state: 9)
        let bytes = Array(#"{"a":[1,-2.5e3,"x\u00e9\ud83d\ude00\\"],"b":{"c":null,"d":true},"e":"ü"}"#.utf8)
        var read = 0
        for position in bytes.indices {
            for _ in 0..<24 {
                var changed = bytes
                changed[position] = UInt8.random(in: 0...255, using: &random)
                guard let value = JSONValue.parse(changed) else { continue }
                read += 1
                // Read all of it in every way.
                _ = Model(value)
                _ = (value["a"]?.elements.map(\.integer), value["b"]?["c"], value["e"]?.string, value.type)
            }
        }
        #expect(read > 100 && read < bytes.count * 24)
    }
}
