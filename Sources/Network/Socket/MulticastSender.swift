import Glibc
import Posix

/// Sends packets to a multicast group from one of this machine's IPv4 addresses, over the interface with that address.
/// Safe to use from any thread; never blocks.
public final class MulticastSender: Sendable {
    private let descriptor: Int32
    private let destination: sockaddr_in

    /// - Parameters:
    ///   - address: An IPv4 address of this machine, which receivers see as the source.
    ///   - group: An IPv4 multicast address.
    /// - Throws: `.configuration` for invalid addresses, `.exhausted`.
    public init(from address: String, to group: String, port: UInt16) throws(NetworkError) {
        guard var source = Self.address(address), let target = Self.address(group, port: port) else {
            throw NetworkError(.configuration, "“\(address)” is no IPv4 address to announce anything from.")
        }
        destination = target
        let type = Int32(SOCK_DGRAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        descriptor = socket(AF_INET, type, 0)
        guard descriptor >= 0 else { throw Socket.failure("make a socket", as: .exhausted) }
        let isBound = withUnsafePointer(to: &source) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isBound,
            setsockopt(
                descriptor, Int32(IPPROTO_IP), IP_MULTICAST_IF, &source.sin_addr,
                socklen_t(MemoryLayout<in_addr>.size)) == 0
        else {
            let failure = Socket.failure("announce something in the network", as: .configuration)
            close(descriptor)
            throw failure
        }
    }

    deinit { close(descriptor) }

    private static func address(_ text: String, port: UInt16 = 0) -> sockaddr_in? {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        return inet_pton(AF_INET, text, &address.sin_addr) == 1 ? address : nil
    }

    /// - Throws: `.unreachable` if the network accepts no packet now.
    public func send(_ packet: [UInt8]) throws(NetworkError) {
        var destination = destination
        let sent = withUnsafePointer(to: &destination) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                sendto(
                    descriptor, packet, packet.count, Int32(MSG_NOSIGNAL), $0,
                    socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard sent == packet.count else {
            throw Socket.failure("announce something in the network", as: .unreachable)
        }
    }
}
