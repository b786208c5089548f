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

    private static let scheme = "smp://"

    /// Returns nil for an invalid fingerprint or host.
    public init?(fingerprint: [UInt8], hosts: [String], port: UInt16? = nil, password: String? = nil) {
        guard fingerprint.count == 32, (1...ServerText.maxHosts).contains(hosts.count),
            hosts.allSatisfy(ServerText.isHost), port != 0
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
        guard let read = ServerText(text, scheme: Self.scheme, longest: 2560) else { return nil }
        self.init(
            fingerprint: read.fingerprint, hosts: read.hosts, port: read.port, password: read.password)
    }

    /// The address without the password: fit for links, logs and screens.
    public var text: String { written(password: nil) }

    /// The full address for the user's own configuration. Secret if it has a password.
    public var textWithPassword: String { written(password: password) }

    private func written(password: String?) -> String {
        ServerText(fingerprint: fingerprint, password: password, hosts: hosts, port: writtenPort)
            .text(scheme: Self.scheme)
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
            guard let read = ServerText.port(String(decoding: port, as: UTF8.self)) else { return nil }
            number = read
        }
        // IPv6 has brackets here too.
        guard
            let names = ServerText.hosts(
                hosts.map { String(decoding: $0, as: UTF8.self) }.joined(separator: ",")),
            names.count == hosts.count
        else { return nil }
        return ServerAddress(fingerprint: fingerprint, hosts: names, port: number)
    }
}

extension [UInt8] {
    public mutating func append(_ server: ServerAddress) {
        append(byteStrings: server.hosts.map { Array(ServerText.text(of: [$0]).utf8) })
        append(byteString: server.writtenPort.map { Array("\($0)".utf8) } ?? [])
        append(byteString: server.fingerprint)
    }
}
