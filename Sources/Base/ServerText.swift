/// The text form of a server's address: `scheme<fingerprint>[:<password>]@host[,host2…][:port]`.
public struct ServerText: Sendable {
    public var fingerprint: [UInt8]
    /// Not checked. Secret.
    public var password: String?
    /// 1 to `maxHosts` names or addresses; IPv6 without brackets.
    public var hosts: [String]
    /// The written port, 1 to 65535.
    public var port: UInt16?

    public static let maxHosts = 8
    private static let longestHost = 253

    public init(fingerprint: [UInt8], password: String? = nil, hosts: [String], port: UInt16?) {
        self.fingerprint = fingerprint
        self.password = password
        self.hosts = hosts
        self.port = port
    }

    /// Reads the text. Returns nil if it is malformed or longer than `longest` bytes.
    public init?(_ text: some StringProtocol, scheme: String, longest: Int) {
        guard text.utf8.count <= longest, text.hasPrefix(scheme) else { return nil }
        let rest = text.dropFirst(scheme.count)
        guard let at = rest.lastIndex(of: "@") else { return nil }
        let identity = rest[..<at].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard let fingerprint = Base64URL.decode(identity[0]) else { return nil }
        var place = Substring(String(rest[rest.index(after: at)...]))
        var port: UInt16?
        if let colon = place.lastIndex(of: ":"), !place[colon...].contains("]") {
            port = Self.port(place[place.index(after: colon)...])
            guard port != nil else { return nil }
            place = place[..<colon]
        }
        guard let hosts = Self.hosts(place) else { return nil }
        self.init(
            fingerprint: fingerprint, password: identity.count == 2 ? String(identity[1]) : nil, hosts: hosts,
            port: port)
    }

    /// Returns the text, with the password if there is one.
    public func text(scheme: String) -> String {
        let secret = password.map { ":" + $0 } ?? ""
        let place = Self.text(of: hosts) + (port.map { ":\($0)" } ?? "")
        return "\(scheme)\(Base64URL.encode(fingerprint))\(secret)@\(place)"
    }

    // MARK: - Parts

    /// Reads a port from 1 to 65535.
    public static func port(_ text: some StringProtocol) -> UInt16? {
        guard text.utf8.allSatisfy({ (48...57).contains($0) }), let port = UInt16(text), port > 0 else {
            return nil
        }
        return port
    }

    /// Reads names separated by commas, with IPv6 in brackets.
    public static func hosts(_ text: some StringProtocol) -> [String]? {
        var hosts: [String] = []
        for host in text.split(separator: ",", omittingEmptySubsequences: false) {
            let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
            let name = String(isBracketed ? host.dropFirst().dropLast() : host)
            guard isHost(name), isBracketed == name.contains(":"), hosts.count < maxHosts else { return nil }
            hosts.append(name)
        }
        return hosts
    }

    /// Returns the hosts separated by commas, with IPv6 in brackets.
    public static func text(of hosts: [String]) -> String {
        hosts.map { $0.contains(":") ? "[\($0)]" : $0 }.joined(separator: ",")
    }

    /// Returns whether a text is a name of letters, digits, `.`, `-` and `_`, or an IPv6 address.
    public static func isHost(_ text: String) -> Bool {
        guard !text.isEmpty, text.utf8.count <= longestHost else { return false }
        if text.contains(":") {
            return text.utf8.allSatisfy { byte in
                byte == UInt8(ascii: ":") || byte == UInt8(ascii: ".")
                    || byte < 128 && Character(UnicodeScalar(byte)).isHexDigit
            }
        }
        return text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"),
                UInt8(ascii: "_"):
                true
            default: false
            }
        }
    }
}
