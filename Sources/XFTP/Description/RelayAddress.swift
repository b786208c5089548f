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
    private static let scheme = "xftp://"

    public init(fingerprint: [UInt8], hosts: [String], port: UInt16?, password: String? = nil) {
        precondition(fingerprint.count == 32 && !hosts.isEmpty)
        self.fingerprint = fingerprint
        self.password = password
        self.hosts = hosts
        writtenPort = port
    }

    /// Parses the text form. Returns nil if it is invalid.
    public init?(_ text: some StringProtocol) {
        guard let read = ServerText(text, scheme: Self.scheme, longest: 2048), read.fingerprint.count == 32
        else { return nil }
        if let password = read.password {
            let isPrintable = password.utf8.allSatisfy { $0 > 32 && $0 < 127 }
            guard !password.isEmpty, password.utf8.count <= 255, isPrintable else { return nil }
        }
        self.init(
            fingerprint: read.fingerprint, hosts: read.hosts, port: read.port, password: read.password)
    }

    /// The address without password, for descriptions, logs and screens.
    public var text: String { written(password: nil) }

    /// The address with its password, for the user's own configuration. Secret.
    public var textWithPassword: String { written(password: password) }

    private func written(password: String?) -> String {
        ServerText(fingerprint: fingerprint, password: password, hosts: hosts, port: writtenPort)
            .text(scheme: Self.scheme)
    }

    public var withoutPassword: RelayAddress {
        RelayAddress(fingerprint: fingerprint, hosts: hosts, port: writtenPort)
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
