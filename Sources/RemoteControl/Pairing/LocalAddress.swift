import Glibc

/// The address at which a phone in the same network finds this computer.
public enum LocalAddress {
    /// An address of an interface that is up.
    struct Candidate: Hashable {
        var interface: String
        var address: String
        var isPointToPoint = false
    }

    /// The IPv4 address of this machine in its network; 127.0.0.1 where it is in none. Asks nobody.
    public static func present() -> String { choose(from: candidates(), leaving: outgoing()) ?? "127.0.0.1" }

    /// Interfaces of virtual machines and containers, which no phone reaches.
    private static let virtual = [
        "docker", "br-", "veth", "virbr", "vnet", "vmnet", "vboxnet", "lxc", "lxdbr", "cni",
    ]

    /// - Parameter outgoing: the address from which packets to strangers leave. A tunnel may have it, which a phone does
    ///   not reach.
    static func choose(from candidates: [Candidate], leaving outgoing: String?) -> String? {
        let real = candidates.filter { candidate in
            !candidate.isPointToPoint && !virtual.contains { candidate.interface.hasPrefix($0) }
        }
        let usual = real.first { $0.address == outgoing } ?? real.first
        return usual?.address ?? candidates.first { $0.address == outgoing }?.address
            ?? candidates.first?.address
    }

    private static func candidates() -> [Candidate] {
        var list: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&list) == 0 else { return [] }
        defer { freeifaddrs(list) }
        var found: [Candidate] = []
        var entry = list
        while let current = entry?.pointee {
            entry = current.ifa_next
            let flags = Int(current.ifa_flags)
            guard flags & Int(IFF_UP) != 0, flags & Int(IFF_LOOPBACK) == 0,
                let address = current.ifa_addr.flatMap({ text(UnsafePointer($0)) })
            else { continue }
            found.append(
                Candidate(
                    interface: String(cString: current.ifa_name), address: address,
                    isPointToPoint: flags & Int(IFF_POINTOPOINT) != 0))
        }
        return found
    }

    /// Where a packet to a reserved address would leave from; nothing is sent.
    private static func outgoing() -> String? {
        let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(9).bigEndian
        inet_pton(AF_INET, "192.0.2.1", &address.sin_addr)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        return withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                guard connect(descriptor, generic, length) == 0,
                    getsockname(descriptor, generic, &length) == 0
                else { return nil }
                return text(UnsafePointer(generic))
            }
        }
    }

    private static func text(_ address: UnsafePointer<sockaddr>) -> String? {
        guard Int32(address.pointee.sa_family) == AF_INET else { return nil }
        return address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { pointer in
            var octets = pointer.pointee.sin_addr
            var text = [CChar](repeating: 0, count: Int(INET_ADDRSTRLEN))
            guard inet_ntop(AF_INET, &octets, &text, socklen_t(text.count)) != nil else { return nil }
            return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
    }
}
