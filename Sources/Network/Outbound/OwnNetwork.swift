import Base
import Glibc

/// Addresses that begin with the same bits.
struct AddressPrefix: Hashable, Sendable {
    /// 4 or 16.
    var octets: [UInt8]
    var length: Int

    /// Whether an address of the same family begins so.
    func contains(_ address: [UInt8]) -> Bool {
        guard address.count == octets.count, length <= 8 * octets.count else { return false }
        let (whole, rest) = (length / 8, length % 8)
        guard address[..<whole].elementsEqual(octets[..<whole]) else { return false }
        return rest == 0 || (address[whole] ^ octets[whole]) >> (8 - rest) == 0
    }
}

/// The addresses of this machine's interfaces, and the networks that these are in, whatever kind of address that is: a
/// machine in a data centre has routable ones, and so have its neighbours.
public final class OwnNetwork: Sendable {
    public static let machine = OwnNetwork(read: interfaces)

    private struct Known {
        var prefixes: [AddressPrefix] = []
        var until: ContinuousClock.Instant?
    }

    private let read: @Sendable () -> [AddressPrefix]
    private let known = Lock(Known())
    /// For so long nothing is read again: a server that names a thousand addresses costs no more than one.
    private static let age = Duration.seconds(1)

    init(read: @escaping @Sendable () -> [AddressPrefix]) { self.read = read }

    /// Whether an address, or one that is written within it, is one of this machine or of a network that it is in.
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

    /// Of each address of each interface: the address itself, and the network that its mask tells. A mask without bits
    /// tells none.
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
