import Glibc

/// Classifies numeric addresses as internal or external.
package enum IPAddress {
    /// Returns the four octets of `192.0.2.1`, or nil for other texts.
    package static func octetsOfIPv4(_ text: some StringProtocol) -> [UInt8]? {
        var address = in_addr()
        guard inet_pton(AF_INET, String(text), &address) == 1 else { return nil }
        return withUnsafeBytes(of: &address) { Array($0) }
    }

    /// Returns the sixteen octets of `2001:db8::1`, or nil for other texts.
    package static func octetsOfIPv6(_ text: some StringProtocol) -> [UInt8]? {
        var address = in6_addr()
        guard inet_pton(AF_INET6, String(text), &address) == 1 else { return nil }
        return withUnsafeBytes(of: &address) { Array($0) }
    }

    /// Returns true for loopback, private, link-local, shared, unspecified, multicast and reserved addresses (RFC 1122,
    /// 1918, 3927, 4193, 4291, 6598), and for IPv6 addresses that contain one, because a gateway extracts it.
    /// - Parameter octets: 4 or 16; any other number is internal.
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
        switch (octets[0], octets[1]) {
        case (0xfc...0xfd, _), (0xfe, 0x80...0xff), (0xff, _): return true
        default: return isLocalTranslation(octets) || embedded(in: octets).contains(where: isInternal)
        }
    }

    /// Returns true for 64:ff9b:1::/48 (RFC 8215), which a network translates into addresses of its own choice, usually
    /// private ones. The rest around 64:ff9b::/96 is unassigned.
    private static func isLocalTranslation(_ octets: [UInt8]) -> Bool {
        octets.starts(with: [0, 0x64, 0xff, 0x9b]) && octets[4..<12].contains { $0 != 0 }
    }

    /// Returns the IPv4 addresses inside an IPv6 address, by its prefix or the form of its last half.
    static func embedded(in octets: [UInt8]) -> [[UInt8]] {
        let last = Array(octets[12...])
        // ::a.b.c.d, :: and ::1; ::ffff:a.b.c.d (RFC 4291); ::ffff:0:a.b.c.d (RFC 2765).
        let mapped: [[UInt8]] = [[0, 0, 0, 0], [0, 0, 0xff, 0xff], [0xff, 0xff, 0, 0]]
        if octets[..<8].allSatisfy({ $0 == 0 }), mapped.contains(Array(octets[8..<12])) { return [last] }
        // NAT64 (RFC 6052).
        if octets.starts(with: [0, 0x64, 0xff, 0x9b]) { return [last] }
        // Teredo (RFC 4380): the server, and the client with all bits inverted.
        if octets.starts(with: [0x20, 0x01, 0, 0]) { return [Array(octets[4..<8]), last.map { ~$0 }] }
        var found: [[UInt8]] = []
        // 6to4 (RFC 3056).
        if octets.starts(with: [0x20, 0x02]) { found.append(Array(octets[2..<6])) }
        // ISATAP (RFC 5214), behind any prefix.
        if octets[8] & 0xfd == 0, octets[9..<12].elementsEqual([0, 0x5e, 0xfe]) { found.append(last) }
        return found
    }
}

extension IPAddress {
    /// Returns the octets of a numeric host in every form of inet_aton(3) and inet_pton(3), or nil for a name.
    package static func octets(of host: String) -> [UInt8]? {
        var address = in_addr()
        if inet_aton(host, &address) != 0 { return withUnsafeBytes(of: &address) { Array($0) } }
        return octetsOfIPv6(host)
    }

    /// Returns whether the text of a host names this machine or its network: a loopback, private or link-local address
    /// in any form of inet_aton(3), or a name of this machine.
    package static func isInternal(host: String) -> Bool {
        if let octets = octets(of: host) { return isInternal(octets) }
        var name = host.lowercased()
        while name.hasSuffix(".") { name.removeLast() }
        return name == "localhost"
            || [".localhost", ".local", ".localdomain"].contains(where: name.hasSuffix)
    }
}
