import Glibc
import Testing

@testable import Network

@Suite struct MulticastTests {
    /// A socket in a group on loopback, and its port.
    private static func member(of group: String) throws -> (descriptor: Int32, port: UInt16) {
        let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        inet_pton(AF_INET, group, &address.sin_addr)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let port = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address -> UInt16 in
                guard bind(descriptor, address, length) == 0, getsockname(descriptor, address, &length) == 0
                else { return 0 }
                return address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                    UInt16(bigEndian: $0.pointee.sin_port)
                }
            }
        }
        var membership = ip_mreq()
        membership.imr_multiaddr = address.sin_addr
        inet_pton(AF_INET, "127.0.0.1", &membership.imr_interface)
        try #require(
            setsockopt(
                descriptor, Int32(IPPROTO_IP), IP_ADD_MEMBERSHIP, &membership,
                socklen_t(MemoryLayout<ip_mreq>.size)) == 0)
        var timeout = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(
            descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        return (descriptor, port)
    }

    @Test func packetsReachTheGroupFromTheChosenAddress() throws {
        let member = try Self.member(of: "224.0.0.251")
        defer { close(member.descriptor) }
        let sender = try MulticastSender(from: "127.0.0.1", to: "224.0.0.251", port: member.port)
        try sender.send([1, 2, 3])
        var (bytes, source) = ([UInt8](repeating: 0, count: 100), sockaddr_in())
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let count = withUnsafeMutablePointer(to: &source) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                recvfrom(member.descriptor, &bytes, bytes.count, 0, $0, &length)
            }
        }
        #expect(Array(bytes.prefix(max(0, count))) == [1, 2, 3])
        #expect(UInt32(bigEndian: source.sin_addr.s_addr) == 0x7F00_0001)
    }

    @Test(arguments: ["", "localhost", "::1", "192.0.2.1", "256.0.0.1"])
    func otherAddressesAreRefused(address: String) {
        #expect(throws: NetworkError.self) {
            try MulticastSender(from: address, to: "224.0.0.251", port: 5227)
        }
    }
}
