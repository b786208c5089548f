import Base
import Glibc

/// Where a client comes from, as servers count what each may have: an IPv4 address, or the first half of an IPv6 address, which
/// one customer has for all of its machines.
public struct PeerAddress: Hashable, Sendable {
    private let bytes: [UInt8]

    /// - Parameter address: 4 or 16 bytes; an IPv4 address within an IPv6 one is the same as by itself.
    public init(_ address: [UInt8]) {
        let isMapped =
            address.count == 16 && address[..<10].allSatisfy { $0 == 0 } && address[10] == 0xff
            && address[11] == 0xff
        bytes = isMapped ? Array(address[12...]) : address.count == 16 ? Array(address[..<8]) : address
    }

    /// Of a client that is gone already, and where there is no network.
    public static let unknown = PeerAddress([])
}

extension PeerAddress: CustomStringConvertible {
    /// The counted bytes in hexadecimal digits.
    public var description: String { Hexadecimal.encode(bytes) }
}

extension Socket {
    /// The other side's.
    var peer: PeerAddress {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                guard getpeername(descriptor, address, &length) == 0 else { return .unknown }
                return PeerAddress(SocketAddress(address, length: length).hostBytes)
            }
        }
    }
}
