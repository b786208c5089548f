import Base

/// The address of a messaging server: `smp://<fingerprint>[:<password>]@host[,host2…][:port]`.
///
/// Two addresses are equal if fingerprint, hosts and port are. The password is not part of the identity, and appears in
/// no queue address and no link.
public struct ServerAddress: Sendable {
    /// SHA-256 of the DER of the server's identity certificate, 32 bytes.
    public let fingerprint: [UInt8]
    /// The password for creating queues, if the server requires one. Secret.
    public let password: String?
    /// 1 to 8 names or addresses of the server; IPv6 without brackets.
    public let hosts: [String]
    /// The written port, or nil for 5223.
    public let writtenPort: UInt16?

    public static let defaultPort: UInt16 = 5223
    public var port: UInt16 { writtenPort ?? Self.defaultPort }

    private static let maxHosts = 8
    private static let longestHost = 253
    private static let scheme = "smp://"

    /// Returns nil for an invalid fingerprint or host.
    public init?(fingerprint: [UInt8], hosts: [String], port: UInt16? = nil, password: String? = nil) {
        guard fingerprint.count == 32, (1...Self.maxHosts).contains(hosts.count),
            hosts.allSatisfy(Self.isHost),
            port != 0
        else { return nil }
        if let password {
            let isPrintable = password.utf8.allSatisfy { $0 > 32 && $0 < 127 && !"@:/".utf8.contains($0) }
            guard !password.isEmpty, password.utf8.count <= 255, isPrintable else { return nil }
        }
        self.fingerprint = fingerprint
        self.hosts = hosts
        writtenPort = port
        self.password = password
    }

    /// Reads the text form. Returns nil if it is malformed.
    public init?(_ text: some StringProtocol) {
        guard text.utf8.count <= 2560, text.hasPrefix(Self.scheme) else { return nil }
        let rest = text.dropFirst(Self.scheme.count)
        guard let at = rest.lastIndex(of: "@") else { return nil }
        let identity = rest[..<at].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard let fingerprint = Base64URL.decode(identity[0]),
            let place = Self.place(rest[rest.index(after: at)...])
        else { return nil }
        self.init(
            fingerprint: fingerprint, hosts: place.hosts, port: place.port,
            password: identity.count == 2 ? String(identity[1]) : nil)
    }

    private static func place(_ text: some StringProtocol) -> (hosts: [String], port: UInt16?)? {
        var place = Substring(String(text))
        var port: UInt16?
        if let colon = place.lastIndex(of: ":"), !place[colon...].contains("]") {
            guard let number = Self.port(place[place.index(after: colon)...]) else { return nil }
            port = number
            place = place[..<colon]
        }
        return hosts(place).map { ($0, port) }
    }

    /// Reads a port from 1 to 65535.
    static func port(_ text: some StringProtocol) -> UInt16? {
        guard text.utf8.allSatisfy({ (48...57).contains($0) }), let port = UInt16(text), port > 0 else {
            return nil
        }
        return port
    }

    /// Reads names separated by commas, with IPv6 in brackets.
    static func hosts(_ text: some StringProtocol) -> [String]? {
        var hosts: [String] = []
        for host in text.split(separator: ",", omittingEmptySubsequences: false) {
            let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
            let name = String(isBracketed ? host.dropFirst().dropLast() : host)
            guard isHost(name), isBracketed == name.contains(":"), hosts.count < maxHosts else { return nil }
            hosts.append(name)
        }
        return hosts
    }

    /// Checks for a name of letters, digits, `.`, `-` and `_`, or an IPv6 address.
    private static func isHost(_ text: String) -> Bool {
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

    /// The address without the password: fit for links, logs and screens.
    public var text: String { "\(Self.scheme)\(Base64URL.encode(fingerprint))@\(place)" }

    /// The full address for the user's own configuration. Secret if it has a password.
    public var textWithPassword: String {
        guard let password else { return text }
        return "\(Self.scheme)\(Base64URL.encode(fingerprint)):\(password)@\(place)"
    }

    private var place: String {
        writtenPort.map { "\(hostText):\($0)" } ?? hostText
    }

    private var hostText: String { Self.text(of: hosts) }

    static func text(of hosts: [String]) -> String {
        hosts.map { $0.contains(":") ? "[\($0)]" : $0 }.joined(separator: ",")
    }

    /// Returns whether both may be the same server. Links name fewer hosts than addresses do.
    func isSame(as other: ServerAddress) -> Bool {
        fingerprint == other.fingerprint && hosts[0].lowercased() == other.hosts[0].lowercased()
            && port == other.port
    }
}

extension ServerAddress: Hashable {
    public static func == (left: Self, right: Self) -> Bool {
        left.fingerprint == right.fingerprint && left.hosts == right.hosts && left.port == right.port
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(fingerprint)
        hasher.combine(hosts)
        hasher.combine(port)
    }
}

extension ServerAddress: CustomStringConvertible, CustomReflectable {
    public var description: String { text }
    public var customMirror: Mirror { Mirror(self, children: ["text": text]) }
}

extension ByteReader {
    /// Fingerprint, hosts and port in binary form.
    public mutating func serverAddress() -> ServerAddress? {
        guard let hosts = byteStrings(), let port = byteString(), let fingerprint = byteString() else {
            return nil
        }
        var number: UInt16?
        if !port.isEmpty {
            guard let read = ServerAddress.port(String(decoding: port, as: UTF8.self)) else { return nil }
            number = read
        }
        // IPv6 has brackets here too.
        guard
            let names = ServerAddress.hosts(
                hosts.map { String(decoding: $0, as: UTF8.self) }.joined(separator: ",")),
            names.count == hosts.count
        else { return nil }
        return ServerAddress(fingerprint: fingerprint, hosts: names, port: number)
    }
}

extension [UInt8] {
    public mutating func append(_ server: ServerAddress) {
        append(byteStrings: server.hosts.map { Array(ServerAddress.text(of: [$0]).utf8) })
        append(byteString: server.writtenPort.map { Array("\($0)".utf8) } ?? [])
        append(byteString: server.fingerprint)
    }
}
