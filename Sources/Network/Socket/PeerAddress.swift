import Base
import Glibc

/// The part of a client's address that limits apply to: an IPv4 address, or the first half of an IPv6 address, which
/// one customer has for all machines.
public struct PeerAddress: Hashable, Sendable {
    private let bytes: [UInt8]

    /// - Parameter address: 4 or 16 bytes. An IPv4 address inside an IPv6 address equals the IPv4 address.
    public init(_ address: [UInt8]) {
        let isMapped =
            address.count == 16 && address[..<10].allSatisfy { $0 == 0 } && address[10] == 0xff
            && address[11] == 0xff
        bytes = isMapped ? Array(address[12...]) : address.count == 16 ? Array(address[..<8]) : address
    }

    /// For a vanished client and for sockets without a network.
    public static let unknown = PeerAddress([])
}

extension PeerAddress: CustomStringConvertible {
    /// The counted bytes in hexadecimal.
    public var description: String { Hexadecimal.encode(bytes) }
}

extension Socket {
    /// The peer of a socket.
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
