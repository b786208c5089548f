import Glibc

/// Which numeric addresses lead back into this machine or its network.
package enum IPAddress {
    /// The four octets of `192.0.2.1`, nil for anything else.
    static func octetsOfIPv4(_ text: some StringProtocol) -> [UInt8]? {
        var address = in_addr()
        guard inet_pton(AF_INET, String(text), &address) == 1 else { return nil }
        return withUnsafeBytes(of: &address) { Array($0) }
    }

    /// The sixteen octets of `2001:db8::1`, nil for anything else.
    static func octetsOfIPv6(_ text: some StringProtocol) -> [UInt8]? {
        var address = in6_addr()
        guard inet_pton(AF_INET6, String(text), &address) == 1 else { return nil }
        return withUnsafeBytes(of: &address) { Array($0) }
    }

    /// Loopback, private, link-local, shared, unspecified, multicast and reserved addresses
    /// (RFC 1122, 1918, 3927, 4193, 4291, 6598), also those written as IPv6 (mapped, 6to4, NAT64).
    package static func isInternal(_ octets: [UInt8]) -> Bool {
        if octets.count == 4 {
            switch (octets[0], octets[1]) {
            case (0, _), (10, _), (127, _), (169, 254), (172, 16...31), (192, 168), (100, 64...127),
                (198, 18...19), (224..., _):
                return true
            default:
                return octets[0] == 192 && octets[1] == 0 && octets[2] == 0
            }
        }
        guard octets.count == 16 else { return true }
        if octets[0..<10].allSatisfy({ $0 == 0 }), octets[10] == octets[11], [0, 255].contains(octets[10]) {
            return isInternal(Array(octets[12...]))  // ::a.b.c.d, ::ffff:a.b.c.d, :: and ::1
        }
        if octets[0] == 0x20, octets[1] == 0x02 { return isInternal(Array(octets[2..<6])) }
        if octets[0..<4].elementsEqual([0, 0x64, 0xff, 0x9b]) { return isInternal(Array(octets[12...])) }
        switch (octets[0], octets[1]) {
        case (0xfc...0xfd, _), (0xfe, 0x80...0xff), (0xff, _): return true
        default: return false
        }
    }
}

extension IPAddress {
    /// Whether a host is, by what it says, in this machine or its own network: a loopback, private or link-local
    /// address in any of the spellings that inet_aton(3) reads, or a name that stands for this machine.
    static func isInternal(host: String) -> Bool {
        var address = in_addr()
        if inet_aton(host, &address) != 0 {
            return isInternal(withUnsafeBytes(of: &address) { Array($0) })
        }
        if let octets = octetsOfIPv6(host) { return isInternal(octets) }
        var name = host.lowercased()
        while name.hasSuffix(".") { name.removeLast() }
        return name == "localhost"
            || [".localhost", ".local", ".localdomain"].contains(where: name.hasSuffix)
    }
}
