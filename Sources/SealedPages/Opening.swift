import Base
import Cryptography

/// Hands a key to the VFS, which SQLite asks to open a file by a name only: the name carries a number, and the number
/// means this while it lives. Any thread.
public final class Opening: Sendable {
    static let parameter = "chatfs-opening"

    let dataKey: SecretBytes
    private let number: UInt64
    /// The name of the file for `sqlite3_open_v2`, with the flag `SQLITE_OPEN_URI`.
    public let uri: String
    private let noted = Lock<SealedPagesError?>(nil)

    /// - Parameter dataKey: 32 bytes.
    init(path: String, dataKey: SecretBytes) {
        self.dataKey = dataKey
        number = OpeningRequests.nextNumber()
        uri = Self.uri(path, number)
    }

    /// Why SQLite was refused the file, where it was the VFS that refused.
    public var problem: SealedPagesError? { noted.withLock { $0 } }

    func note(_ error: SealedPagesError) { noted.withLock { $0 = error } }

    /// The file is open, or will not be.
    public func end() { OpeningRequests.remove(number) }

    func begin() { OpeningRequests.add(self, number) }

    /// Every byte that could mean something in a URI is written as a number.
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

/// The openings under way in this process.
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
