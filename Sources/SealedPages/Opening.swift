import Base
import Cryptography

/// Passes a key to the VFS. SQLite gives the VFS only a file name, so the name contains a number that refers to this
/// object during its life. Thread-safe.
public final class Opening: Sendable {
    static let parameter = "chatfs-opening"

    let dataKey: SecretBytes
    private let number: UInt64
    /// The file name for `sqlite3_open_v2` with the flag `SQLITE_OPEN_URI`.
    public let uri: String
    private let noted = Lock<SealedPagesError?>(nil)

    /// - Parameter dataKey: 32 bytes.
    init(path: String, dataKey: SecretBytes) {
        self.dataKey = dataKey
        number = OpeningRequests.nextNumber()
        uri = Self.uri(path, number)
    }

    /// The VFS's error, or nil if the VFS did not cause the failure.
    public var problem: SealedPagesError? { noted.withLock { $0 } }

    func note(_ error: SealedPagesError) { noted.withLock { $0 = error } }

    /// Called after SQLite opened the file or failed to.
    public func end() { OpeningRequests.remove(number) }

    func begin() { OpeningRequests.add(self, number) }

    /// Percent-encodes all bytes with a meaning in URIs.
    private static func uri(_ path: String, _ number: UInt64) -> String {
        var text = path.isAbsolutePath ? "file://" : "file:"
        for byte in path.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "."),
                UInt8(ascii: "-"), UInt8(ascii: "_"):
                text.unicodeScalars.append(Unicode.Scalar(byte))
            default: text += "%" + Hexadecimal.encode([byte])
            }
        }
        return text + "?\(parameter)=\(number)"
    }
}

/// The open requests in this process.
enum OpeningRequests {
    private struct State {
        var last: UInt64 = 0
        var openings: [UInt64: Opening] = [:]
    }

    private static let state = Lock(State())

    static func nextNumber() -> UInt64 {
        state.withLock {
            $0.last += 1
            return $0.last
        }
    }

    static func add(_ opening: Opening, _ number: UInt64) { state.withLock { $0.openings[number] = opening } }
    static func remove(_ number: UInt64) { state.withLock { $0.openings[number] = nil } }

    static func find(_ text: UnsafePointer<CChar>?) -> Opening? {
        guard let text, let number = UInt64(String(cString: text)) else { return nil }
        return state.withLock { $0.openings[number] }
    }
}
