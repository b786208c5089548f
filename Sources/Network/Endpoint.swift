/// A host name or numeric address, and a TCP port.
public struct Endpoint: Hashable, Sendable, CustomStringConvertible {
    /// A DNS name, an IPv4 address, or an IPv6 address without brackets.
    public let host: String
    public let port: UInt16

    public init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// Reads `127.0.0.1:0`, `relay.example:443` or `[::1]:5223`. Returns nil for other texts. The port is required.
    public init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":") else { return nil }
        let digits = text[text.index(after: colon)...]
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let port = UInt16(digits)
        else { return nil }
        var host = text[..<colon]
        let isInBrackets = host.hasPrefix("[") && host.hasSuffix("]")
        if isInBrackets { host = host.dropFirst().dropLast() }
        // Only an IPv6 address has colons, and only it has brackets.
        guard !host.isEmpty, isInBrackets == host.contains(":"), !host.contains("["), !host.contains("]"),
            host.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f })
        else { return nil }
        self.init(host: String(host), port: port)
    }

    /// With brackets around an IPv6 address, as in URLs and in HTTP/2's `:authority`.
    public var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}

extension Endpoint {
    /// Returns whether a host is a hidden service of Tor, reachable only through a proxy and never looked up (RFC
    /// 7686). Ignores case and a trailing dot, as in every name.
    public static func isOnion(_ host: some StringProtocol) -> Bool {
        let name = withoutFinalDots(host).lowercased()
        return name == "onion" || name.hasSuffix(".onion")
    }

    /// Returns a name for comparisons of its end.
    static func withoutFinalDots(_ host: some StringProtocol) -> String {
        var name = String(host)
        while name.hasSuffix(".") { name.removeLast() }
        return name
    }
}
