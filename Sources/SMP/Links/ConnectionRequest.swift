import Base
import Cryptography

/// The offer of a full link: queues, supported versions and, for an invitation, the keys of the first agreement.
public struct ConnectionRequest: Hashable, Sendable {
    public enum Kind: Hashable, Sendable {
        /// An invitation for one person.
        case invitation(EncryptionOffer)
        /// A contact address or a group, for any number of people.
        case contact
    }

    /// The public keys of an invitation.
    public struct EncryptionOffer: Hashable, Sendable {
        public var versions: ClosedRange<UInt16>
        public var first: X448PublicKey
        public var second: X448PublicKey
        /// The sntrup761 key, 1158 bytes, if the KEM is proposed.
        public var kemKey: [UInt8]?

        public static let kemKeyLength = 1158

        public init(
            versions: ClosedRange<UInt16>, first: X448PublicKey, second: X448PublicKey, kemKey: [UInt8]? = nil
        ) {
            self.versions = versions
            self.first = first
            self.second = second
            self.kemKey = kemKey
        }
    }

    public var kind: Kind
    public var agentVersions: ClosedRange<UInt16>
    /// 1 to 8 queues. The first one is used.
    public var queues: [OfferedQueue]
    /// JSON of the application in links to groups.
    public var data: String?

    static let maxQueues = 8
    private static let longest = 32_768

    /// Returns nil for no queues or too many.
    public init?(
        kind: Kind, agentVersions: ClosedRange<UInt16> = SMPVersion.agents, queues: [OfferedQueue],
        data: String? = nil
    ) {
        guard (1...Self.maxQueues).contains(queues.count), (data?.utf8.count ?? 0) <= 4096 else { return nil }
        self.kind = kind
        self.agentVersions = agentVersions
        self.queues = queues
        self.data = data
    }
}

/// Secret until it is used.
extension ConnectionRequest: CustomStringConvertible, CustomReflectable {
    public var description: String { "ConnectionRequest(…)" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

// MARK: - Full links

extension ConnectionRequest {
    /// Returns the link between clients: `simplex:/invitation#/?…`.
    public var link: String { "simplex:/\(path)" }
    /// Returns the link for people. Its web page explains it to readers without a client.
    public var webLink: String { "https://simplex.chat/\(path)" }

    private var path: String {
        let smp = queues.map { PercentEncoding.encode($0.text) }.joined(
            separator: PercentEncoding.encode(";"))
        var parameters = ["v=\(agentVersions.text)", "smp=\(smp)"]
        if case .invitation(let offer) = kind {
            parameters.append("e2e=\(PercentEncoding.encode(offer.text))")
        }
        if let data { parameters.append("data=\(PercentEncoding.encode(data))") }
        let word = if case .contact = kind { "contact" } else { "invitation" }
        return "\(word)#/?\(parameters.joined(separator: "&"))"
    }

    /// Reads a full link.
    /// - Throws: `.malformedLink`; `.unsupportedLink` if no version is supported here.
    public init(link text: some StringProtocol) throws(SMPError) {
        guard text.utf8.count <= Self.longest, let parts = LinkParts(String(text)), parts.path.isEmpty,
            let word = Self.word(of: parts.place),
            let agentVersions = parts["v"].flatMap({ ClosedRange<UInt16>(text: $0) }),
            let smp = parts["smp"]
        else { throw .malformedLink }
        var queues: [OfferedQueue] = []
        for text in smp.split(separator: ";", omittingEmptySubsequences: false) {
            guard let queue = OfferedQueue(text), queues.count < Self.maxQueues else { throw .malformedLink }
            queues.append(queue)
        }
        let kind: Kind
        switch (word, parts["e2e"]) {
        case ("contact", nil): kind = .contact
        case ("invitation", .some(let text)):
            guard let offer = EncryptionOffer(text: text) else { throw .malformedLink }
            kind = .invitation(offer)
        default: throw .malformedLink
        }
        guard
            let request = ConnectionRequest(
                kind: kind, agentVersions: agentVersions, queues: queues, data: parts["data"])
        else { throw .malformedLink }
        try request.checkVersions()
        self = request
    }

    /// `simplex:/WORD` or `https://HOST/WORD`.
    private static func word(of place: Substring) -> Substring? {
        if place.hasPrefix("simplex:/") { return place.dropFirst("simplex:/".count) }
        guard place.hasPrefix("https://"), let slash = place.lastIndex(of: "/") else { return nil }
        let host = place[..<slash].dropFirst("https://".count)
        guard !host.isEmpty, !host.contains("/") else { return nil }
        return place[place.index(after: slash)...]
    }

    /// Checks that this program supports one of the versions.
    func checkVersions() throws(SMPError) {
        guard agentVersions.overlaps(SMPVersion.agents), queues[0].versions.overlaps(SMPVersion.queues) else {
            throw SMPError(.unsupportedLink, "The link is of a version of SimpleX that ChatFS does not know.")
        }
    }
}

extension ConnectionRequest.EncryptionOffer {
    /// Unescaped: the link escapes it as a whole.
    var text: String {
        let keys = "\(Base64URL.encode(first.spki)),\(Base64URL.encode(second.spki))"
        let kem = kemKey.map { "&kem_key=\(Base64URL.encode($0))" } ?? ""
        return "v=\(versions.text)&x3dh=\(keys)\(kem)"
    }

    init?(text: String) {
        guard let parameters = LinkParts.parameters(text),
            let versions = parameters["v"].flatMap({ ClosedRange<UInt16>(text: $0) }),
            let keys = parameters["x3dh"]?.split(separator: ",", omittingEmptySubsequences: false),
            keys.count == 2,
            let first = Base64URL.decode(keys[0]).flatMap({ X448PublicKey(spki: $0) }),
            let second = Base64URL.decode(keys[1]).flatMap({ X448PublicKey(spki: $0) })
        else { return nil }
        var kemKey: [UInt8]?
        if let text = parameters["kem_key"] {
            guard let read = Base64URL.decode(text), read.count == Self.kemKeyLength else { return nil }
            kemKey = read
        }
        self.init(versions: versions, first: first, second: second, kemKey: kemKey)
    }
}

// MARK: - Within short links

extension ConnectionRequest {
    var encoded: [UInt8] {
        var bytes: [UInt8] = []
        if case .contact = kind { bytes.append(UInt8(ascii: "C")) } else { bytes.append(UInt8(ascii: "I")) }
        bytes.append(agentVersions)
        bytes.append(list: queues) { $0.append($1) }
        bytes.append(optional: data) { $0.append(large: Array($1.utf8)) }
        guard case .invitation(let offer) = kind else { return bytes }
        bytes.append(offer.versions)
        bytes.append(byteString: offer.first.spki)
        bytes.append(byteString: offer.second.spki)
        bytes.append(optional: offer.kemKey) { bytes, key in
            bytes.append(UInt8(ascii: "P"))
            bytes.append(large: key)
        }
        return bytes
    }

    init?(from reader: inout ByteReader) {
        guard let letter = reader.byte(), let agentVersions = reader.versions(),
            let queues = reader.list({ $0.offeredQueue() }), let data = reader.optional({ $0.large() })
        else { return nil }
        let kind: Kind
        switch letter {
        case UInt8(ascii: "C"): kind = .contact
        case UInt8(ascii: "I"):
            guard let offer = reader.encryptionOffer() else { return nil }
            kind = .invitation(offer)
        default: return nil
        }
        var text: String?
        if let data {
            guard let read = String(validating: data, as: UTF8.self) else { return nil }
            text = read
        }
        self.init(kind: kind, agentVersions: agentVersions, queues: queues, data: text)
    }
}

extension ByteReader {
    fileprivate mutating func encryptionOffer() -> ConnectionRequest.EncryptionOffer? {
        guard let versions = versions(), let first = byteString().flatMap({ X448PublicKey(spki: $0) }),
            let second = byteString().flatMap({ X448PublicKey(spki: $0) }),
            let kemKey = optional({ $0.proposedKey() })
        else { return nil }
        return ConnectionRequest.EncryptionOffer(
            versions: versions, first: first, second: second, kemKey: kemKey)
    }

    private mutating func proposedKey() -> [UInt8]? {
        guard byte() == UInt8(ascii: "P"), let key = large(),
            key.count == ConnectionRequest.EncryptionOffer.kemKeyLength
        else { return nil }
        return key
    }
}
