import Base
import Cryptography
import Glibc
import Posix

/// What goes over the socket of a process that holds a key: a byte as the request; as the answer a byte for the holder, 0
/// without a key, eight for the seconds that are left (little-endian, all ones for no limit), and the key where it was
/// asked for. The key goes from locked memory to locked memory.
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

    /// The holder and its seconds, nil for no limit. Nil without a key, and for what makes no sense.
    static func holder(in head: [UInt8]) -> (holder: KeyHolding.Holder, seconds: Int64?)? {
        guard head.count == headLength, let holder = KeyHolding.Holder(rawValue: head[0]) else { return nil }
        let number = head[1...].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return (holder, Int64(exactly: number))
    }
}
