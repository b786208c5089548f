import Base
import Network

/// The address of an XFTP relay: `xftp://<fingerprint>[:<password>]@host[,host2…][:port]`.
///
/// Addresses are equal if fingerprint, hosts and port are equal; passwords do not matter. The password is sent only
/// with FNEW and shown only by `textWithPassword`.
public struct RelayAddress: Sendable {
    /// The SHA-256 of the relay's identity certificate (DER), 32 bytes.
    public let fingerprint: [UInt8]
    /// The password for creating chunks, if the relay requires one. Secret.
    public let password: String?
    /// Names or addresses of the relay, at least one. IPv6 without brackets.
    public let hosts: [String]
    /// The port in the text, or nil for 443.
    private let writtenPort: UInt16?

    public var port: UInt16 { writtenPort ?? Self.defaultPort }

    public static let defaultPort: UInt16 = 443
    private static let maxHosts = 8
    private static let longestHost = 253

    public init(fingerprint: [UInt8], hosts: [String], port: UInt16?, password: String? = nil) {
        precondition(fingerprint.count == 32 && !hosts.isEmpty)
        self.fingerprint = fingerprint
        self.password = password
        self.hosts = hosts
        writtenPort = port
    }

    /// Parses the text form. Returns nil if it is invalid.
    public init?(_ text: some StringProtocol) {
        let scheme = "xftp://"
        guard text.utf8.count <= 2048, text.hasPrefix(scheme) else { return nil }
        let rest = text.dropFirst(scheme.count)
        guard let at = rest.lastIndex(of: "@") else { return nil }
        let identity = rest[..<at].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard let fingerprint = Base64URL.decode(identity[0]), fingerprint.count == 32 else { return nil }
        self.fingerprint = fingerprint
        if identity.count == 2 {
            let password = String(identity[1])
            let isPrintable = password.utf8.allSatisfy { $0 > 32 && $0 < 127 }
            guard !password.isEmpty, password.utf8.count <= 255, isPrintable else { return nil }
            self.password = password
        } else {
            password = nil
        }
        var place = Substring(String(rest[rest.index(after: at)...]))
        if let colon = place.lastIndex(of: ":"), !place[colon...].contains("]") {
            let digits = place[place.index(after: colon)...]
            guard digits.utf8.allSatisfy({ (48...57).contains($0) }), let port = UInt16(digits), port > 0
            else { return nil }
            writtenPort = port
            place = place[..<colon]
        } else {
            writtenPort = nil
        }
        var hosts: [String] = []
        for host in place.split(separator: ",", omittingEmptySubsequences: false) {
            guard let host = Self.host(host), hosts.count < Self.maxHosts else { return nil }
            hosts.append(host)
        }
        guard !hosts.isEmpty else { return nil }
        self.hosts = hosts
    }

    /// Accepts a name of letters, digits, `.`, `-` and `_`, or an IPv6 address in brackets.
    private static func host(_ text: Substring) -> String? {
        guard !text.isEmpty, text.utf8.count <= longestHost else { return nil }
        if text.hasPrefix("[") {
            guard text.hasSuffix("]") else { return nil }
            let inner = text.dropFirst().dropLast()
            let isAddress = inner.utf8.allSatisfy {
                $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ".") || Character(UnicodeScalar($0)).isHexDigit
            }
            return isAddress && inner.contains(":") ? String(inner) : nil
        }
        let isName = text.utf8.allSatisfy {
            switch $0 {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"),
                UInt8(ascii: "_"):
                true
            default: false
            }
        }
        return isName ? String(text) : nil
    }

    /// The address without password, for descriptions, logs and screens.
    public var text: String { "xftp://\(Base64URL.encode(fingerprint))@\(place)" }

    /// The address with its password, for the user's own configuration. Secret.
    public var textWithPassword: String {
        guard let password else { return text }
        return "xftp://\(Base64URL.encode(fingerprint)):\(password)@\(place)"
    }

    public var withoutPassword: RelayAddress {
        RelayAddress(fingerprint: fingerprint, hosts: hosts, port: writtenPort)
    }

    private var place: String {
        let hosts = hosts.map { $0.contains(":") ? "[\($0)]" : $0 }.joined(separator: ",")
        return writtenPort.map { "\(hosts):\($0)" } ?? hosts
    }
}

extension RelayAddress: Hashable {
    public static func == (left: Self, right: Self) -> Bool {
        left.fingerprint == right.fingerprint && left.hosts == right.hosts && left.port == right.port
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(fingerprint)
        hasher.combine(hosts)
        hasher.combine(port)
    }
}

extension RelayAddress: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { text }
    public var debugDescription: String { text }
    public var customMirror: Mirror { Mirror(self, children: ["text": text]) }
}

extension RelayAddress {
    /// The order of relays in official descriptions: by host (IPv4, IPv6, .onion, other names), port text, fingerprint.
    static func precedes(_ left: RelayAddress, _ right: RelayAddress) -> Bool {
        for (leftHost, rightHost) in zip(left.hosts, right.hosts) where leftHost != rightHost {
            let (leftKey, rightKey) = (orderKey(leftHost), orderKey(rightHost))
            return leftKey.lexicographicallyPrecedes(rightKey)
        }
        if left.hosts.count != right.hosts.count { return left.hosts.count < right.hosts.count }
        let leftPort = left.writtenPort.map(String.init) ?? ""
        let rightPort = right.writtenPort.map(String.init) ?? ""
        if leftPort != rightPort { return leftPort.utf8.lexicographicallyPrecedes(rightPort.utf8) }
        return left.fingerprint.lexicographicallyPrecedes(right.fingerprint)
    }

    private static func orderKey(_ host: String) -> [UInt8] {
        if let octets = IPAddress.octetsOfIPv4(host) { return [0] + octets }
        if host.contains(":") { return [1] + Array(host.utf8) }
        return [host.hasSuffix(".onion") ? 2 : 3] + Array(host.utf8)
    }
}

extension RelayAddress {
    /// Whether a host is written as an address or name of this machine or its network. Resolved addresses are checked
    /// when connecting.
    public var leadsIntoOwnNetwork: Bool { hosts.contains { OutboundPolicy.leadsInside(host: $0) } }

    /// The relay's places, which the user approves.
    public var places: [ServerPlace] {
        hosts.map { ServerPlace(fingerprint: fingerprint, host: $0, port: port) }
    }
}
