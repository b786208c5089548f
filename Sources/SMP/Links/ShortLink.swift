import Base
import Cryptography

/// A short link: the place of its data on a server, and the key to it. Its text is secret until the invitation is used,
/// and for an address as long as it exists.
public struct ShortLink: Hashable, Sendable {
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        /// An invitation for one person.
        case invitation = "i"
        case contact = "a"
        case group = "g"
        case channel = "c"
        case relay = "r"
    }

    public var kind: Kind
    public var server: ServerAddress
    /// 24 bytes. The server chooses it for an invitation; for other links it is derived from the key.
    public var id: [UInt8]
    /// 32 bytes.
    public var key: [UInt8]

    private static let keyLength = 32
    private static let idLength = 24
    private static let longest = 2048
    private static let scheme = "simplex:"

    /// Returns nil for a wrong length.
    /// - Parameter id: The id of an invitation. Other links derive it from the key.
    public init?(kind: Kind, server: ServerAddress, id: [UInt8]? = nil, key: [UInt8]) {
        guard key.count == Self.keyLength, (kind == .invitation) == (id != nil),
            id.map({ $0.count == Self.idLength }) ?? true
        else { return nil }
        self.kind = kind
        self.server = server
        self.key = key
        self.id = id ?? LinkKeys(kind: kind, key: key).id
    }

    /// The link for people.
    public var webLink: String { "https://\(ServerText.text(of: [server.hosts[0]]))/\(path(isWeb: true))" }
    /// The link between clients.
    public var link: String { "\(Self.scheme)/\(path(isWeb: false))" }

    private func path(isWeb: Bool) -> String {
        var parameters: [String] = []
        let isPreset = PresetServers.address(host: server.hosts[0])?.isSame(as: server) == true
        // Preset servers are named by host alone.
        if !(isWeb && isPreset) {
            let hosts = isWeb ? Array(server.hosts.dropFirst()) : server.hosts
            if !hosts.isEmpty {
                parameters.append("h=\(PercentEncoding.encode(ServerText.text(of: hosts)))")
            }
            if let port = server.writtenPort { parameters.append("p=\(port)") }
            parameters.append("c=\(Self.text(server.fingerprint))")
        }
        let place = kind == .invitation ? "\(Self.text(id))/\(Self.text(key))" : Self.text(key)
        let query = parameters.isEmpty ? "" : "?\(parameters.joined(separator: "&"))"
        return "\(kind.rawValue)#\(place)\(query)"
    }

    private static func text(_ bytes: [UInt8]) -> String {
        String(Base64URL.encode(bytes).prefix { $0 != "=" })
    }

    /// Reads a short link in either form.
    /// - Throws: `.malformedLink`.
    public init(link text: some StringProtocol) throws(SMPError) {
        guard text.utf8.count <= Self.longest, let parts = LinkParts(String(text)),
            let (webHost, word) = Self.place(parts.place), let kind = Kind(rawValue: String(word)),
            let server = Self.server(webHost: webHost, parts)
        else { throw .malformedLink }
        var words = parts.path.split(separator: "/", omittingEmptySubsequences: false)[...]
        var id: [UInt8]?
        if kind == .invitation {
            guard let read = words.popFirst().flatMap({ Base64URL.decode($0) }) else { throw .malformedLink }
            id = read
        }
        guard words.count == 1, let key = Base64URL.decode(words[words.startIndex]),
            let link = ShortLink(kind: kind, server: server, id: id, key: key)
        else { throw .malformedLink }
        self = link
    }

    /// Returns the host of a web link and the letter of its kind.
    private static func place(_ place: Substring) -> (webHost: Substring?, kind: Substring)? {
        if place.hasPrefix("\(scheme)/") { return (nil, place.dropFirst(scheme.count + 1)) }
        guard place.hasPrefix("https://") else { return nil }
        let words = place.dropFirst("https://".count).split(separator: "/", omittingEmptySubsequences: false)
        return words.count == 2 ? (words[0], words[1]) : nil
    }

    private static func server(webHost: Substring?, _ parts: LinkParts) -> ServerAddress? {
        var hosts: [String] = []
        if let webHost {
            guard let read = ServerText.hosts(webHost), read.count == 1 else { return nil }
            hosts = read
        }
        if let more = parts["h"] {
            guard let read = ServerText.hosts(more) else { return nil }
            hosts += read
        }
        guard let first = hosts.first else { return nil }
        guard let fingerprint = parts["c"] else {
            // Only preset servers may lack a fingerprint.
            return PresetServers.address(host: first)
        }
        guard let bytes = Base64URL.decode(fingerprint) else { return nil }
        var port: UInt16?
        if let text = parts["p"] {
            guard let read = ServerText.port(text) else { return nil }
            port = read
        }
        return ServerAddress(fingerprint: bytes, hosts: hosts, port: port)
    }
}

extension ShortLink: CustomStringConvertible, CustomReflectable {
    public var description: String { "ShortLink(…)" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The values derived from the key of a short link.
struct LinkKeys {
    /// Empty for an invitation, because the server chooses its id.
    let id: [UInt8]
    /// Decrypts the data of the link.
    let dataKey: WipedBytes

    init(kind: ShortLink.Kind, key: [UInt8]) {
        let input = WipedBytes(key)
        if kind == .invitation {
            id = []
            dataKey = HKDF.derive(from: input, info: "SimpleXInvLink", count: 32)
        } else {
            let derived = HKDF.derive(from: input, info: "SimpleXContactLink", count: 56)
            id = derived[0..<24].bytes
            dataKey = derived[24..<56]
        }
    }
}
