import Base
import Cryptography
import Glibc
import Posix

/// The protocol of a key holder's socket. A request is one byte. The reply is one byte for the holder (0 without a
/// key), eight bytes for the seconds left (little-endian, all ones for no limit) and, if requested, the key. The key
/// travels from locked memory to locked memory.
enum KeyMessage {
    enum Request: UInt8 {
        case key = 0x6B
        case state = 0x73
        case lock = 0x6C
    }

    static let headLength = 9
    static let keyLength = 32

    static func head(_ holder: KeyHolding.Holder?, seconds: Int64?) -> [UInt8] {
        let number = seconds.map { UInt64(max(0, $0)) } ?? .max
        return [holder?.rawValue ?? 0] + (0..<8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    }

    /// Parses the holder and its seconds, nil for no limit. Returns nil without a key and for invalid bytes.
    static func holder(in head: [UInt8]) -> (holder: KeyHolding.Holder, seconds: Int64?)? {
        guard head.count == headLength, let holder = KeyHolding.Holder(rawValue: head[0]) else { return nil }
        let number = head[1...].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return (holder, Int64(exactly: number))
    }
}
