/// Where a server listens: a host name or a numeric address, and a TCP port.
public struct Endpoint: Hashable, Sendable, CustomStringConvertible {
    /// A DNS name, an IPv4 address, or an IPv6 address without brackets.
    public let host: String
    public let port: UInt16

    public init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// `127.0.0.1:0`, `relay.example:443` or `[::1]:5223`; nil for anything else. The port is
    /// required.
    public init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":") else { return nil }
        let digits = text[text.index(after: colon)...]
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let port = UInt16(digits)
        else { return nil }
        var host = text[..<colon]
        let isInBrackets = host.hasPrefix("[") && host.hasSuffix("]")
        if isInBrackets { host = host.dropFirst().dropLast() }
        // Only an IPv6 address has colons, and only it stands in brackets.
        guard !host.isEmpty, isInBrackets == host.contains(":"), !host.contains("["), !host.contains("]"),
            host.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f })
        else { return nil }
        self.init(host: String(host), port: port)
    }

    /// With brackets around an IPv6 address, as in URLs and in HTTP/2's `:authority`.
    public var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}

extension Endpoint {
    /// Whether a host is a hidden service of Tor: only a proxy leads there, and no name server is ever asked for it
    /// (RFC 7686). As in every name, capitals and a dot at the end make no difference.
    public static func isOnion(_ host: some StringProtocol) -> Bool {
        let name = withoutFinalDots(host).lowercased()
        return name == "onion" || name.hasSuffix(".onion")
    }

    /// A name as those who compare its end take it.
    static func withoutFinalDots(_ host: some StringProtocol) -> String {
        var name = String(host)
        while name.hasSuffix(".") { name.removeLast() }
        return name
    }
}
