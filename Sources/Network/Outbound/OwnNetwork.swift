import Base
import Glibc

/// A prefix of addresses.
struct AddressPrefix: Hashable, Sendable {
    /// 4 or 16.
    var octets: [UInt8]
    var length: Int

    /// Returns whether an address of the same family has this prefix.
    func contains(_ address: [UInt8]) -> Bool {
        guard address.count == octets.count, length <= 8 * octets.count else { return false }
        let (whole, rest) = (length / 8, length % 8)
        guard address[..<whole].elementsEqual(octets[..<whole]) else { return false }
        return rest == 0 || (address[whole] ^ octets[whole]) >> (8 - rest) == 0
    }
}

/// The addresses of this machine's interfaces and their networks, including routable ones: a machine in a data centre
/// and its neighbours have those.
public final class OwnNetwork: Sendable {
    public static let machine = OwnNetwork(read: interfaces)

    private struct Known {
        var prefixes: [AddressPrefix] = []
        var until: ContinuousClock.Instant?
    }

    private let read: @Sendable () -> [AddressPrefix]
    private let known = Lock(Known())
    /// The interval of reading interfaces, so that a server with a thousand addresses costs as much as one.
    private static let age = Duration.seconds(1)

    init(read: @escaping @Sendable () -> [AddressPrefix]) { self.read = read }

    /// Returns whether an address, or one inside it, belongs to this machine or to one of its networks.
    /// - Parameter octets: 4 or 16.
    func contains(_ octets: [UInt8]) -> Bool {
        let prefixes = prefixes()
        return ([octets] + (octets.count == 16 ? IPAddress.embedded(in: octets) : []))
            .contains { address in prefixes.contains { $0.contains(address) } }
    }

    private func prefixes() -> [AddressPrefix] {
        let now = ContinuousClock.now
        let recent = known.withLock { known in known.until.map { now < $0 } == true ? known.prefixes : nil }
        if let recent { return recent }
        let fresh = read()
        known.withLock { $0 = Known(prefixes: fresh, until: now + Self.age) }
        return fresh
    }

    /// Returns each address of each interface and its network. An empty mask gives no network.
    @Sendable private static func interfaces() -> [AddressPrefix] {
        var list: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&list) == 0 else { return [] }
        defer { freeifaddrs(list) }
        var prefixes: [AddressPrefix] = []
        var entry = list
        while let current = entry {
            if let address = octets(current.pointee.ifa_addr) {
                prefixes.append(AddressPrefix(octets: address, length: 8 * address.count))
                let mask = octets(current.pointee.ifa_netmask) ?? []
                let length = mask.reduce(0) { $0 + $1.nonzeroBitCount }
                if mask.count == address.count, length > 0 {
                    prefixes.append(AddressPrefix(octets: address, length: length))
                }
                if let peer = octets(current.pointee.ifa_ifu.ifu_dstaddr), peer.count == address.count {
                    prefixes.append(AddressPrefix(octets: peer, length: 8 * peer.count))
                }
            }
            entry = current.pointee.ifa_next
        }
        return prefixes
    }

    private static func octets(_ address: UnsafeMutablePointer<sockaddr>?) -> [UInt8]? {
        guard let address else { return nil }
        switch Int32(address.pointee.sa_family) {
        case AF_INET:
            return address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { pointer in
                withUnsafeBytes(of: pointer.pointee.sin_addr) { Array($0) }
            }
        case AF_INET6:
            return address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { pointer in
                withUnsafeBytes(of: pointer.pointee.sin6_addr) { Array($0) }
            }
        default: return nil
        }
    }
}
