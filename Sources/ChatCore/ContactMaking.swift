/// Becoming somebody's contact, over the network of the core. That it came about is told by `.chatUpdated`. Where
/// contacts are made elsewhere, every command throws `.invalidCommand`.
public protocol ContactMaking: OpenProfile {
    /// Makes a link for one person, who becomes a contact by using it.
    /// - Throws: `.file(.noRelay)` where no server is configured, `.invalidCommand` where the server refuses.
    func invite() async throws(ChatError) -> ContactInvitation

    /// Becomes the contact of whose link it is. The same link again is the same contact.
    /// - Returns: by which `contact(of:)` knows it.
    /// - Throws: `.invalidCommand` for what is no link, or one that was used; `.file(.noRelay)`.
    func accept(_ link: String) async throws(ChatError) -> Int64

    /// The chat with who connected; nil while nobody has. Asks nobody but the core's own store.
    /// - Throws: `.invalidCommand` with why, where nobody will connect any more, or the store cannot be asked.
    func contact(of connection: Int64) async throws(ChatError) -> Chat?

    /// How what two people write to each other is protected; nil for a chat without encryption between its two ends,
    /// such as one between profiles of this machine.
    /// - Throws: `.noSuchChat`.
    func security(of chat: ChatReference) async throws(ChatError) -> ContactSecurity?

    /// Notes that the user has compared a contact's security code, or takes that back. When the keys change it is void, and
    /// the chat says so (`ContactVerification`).
    /// - Parameter code: the digits that were compared, spaces do not matter; nil: takes it back.
    /// - Throws: `.noSuchChat`; `.invalidCommand` where these are not the digits of the present keys, there are none, or
    ///   both sides are just agreeing on others.
    func verify(_ chat: ChatReference, code: String?) async throws(ChatError)

    /// Sends nothing to a contact that is not verified, or whose verification has become void, from now on or no longer.
    /// - Throws: `.noSuchChat`; `.invalidCommand` for a chat without a security code.
    func requireVerification(of chat: ChatReference, _ isRequired: Bool) async throws(ChatError)

    /// Has a profile and its contact agree on new keys. What is sent meanwhile waits; the security code changes.
    /// - Throws: `.noSuchChat`; `.invalidCommand` where there are none, or the connection does not stand yet;
    ///   `.sendingRefused` where it does not any more.
    func renewKeys(of chat: ChatReference) async throws(ChatError)

    /// Has a contact write to another messaging server of the profile from when both have heard of it. The contact is told
    /// over the present one, and answers there.
    /// - Throws: `.noSuchChat`; `.invalidCommand` where there is no server between them or no other one, or the connection
    ///   does not stand yet; `.sendingRefused` where it does not any more.
    func moveQueue(of chat: ChatReference) async throws(ChatError)
}

/// The encryption between a profile and its contact.
public struct ContactSecurity: Hashable, Sendable {
    /// Digits that are the same on both sides when nobody is in between.
    public let code: String
    /// nil where the core does not say.
    public let protection: ContactProtection?
    public let verification: ContactVerification
    /// Whether nothing is sent to who is not verified.
    public let isVerificationRequired: Bool

    public init(
        code: String, protection: ContactProtection?, verification: ContactVerification = .unverified,
        isVerificationRequired: Bool = false
    ) {
        self.code = code
        self.protection = protection
        self.verification = verification
        self.isVerificationRequired = isVerificationRequired
    }
}

/// Against whom the encryption helps.
public enum ContactProtection: String, Codable, Hashable, Sendable, CaseIterable {
    /// Both directions also against who keeps what he sees until there are quantum computers.
    case postQuantum = "post-quantum"
    /// Elliptic curves alone: the other side does not use more, or the first messages have not brought it about yet.
    case standard
    /// The same, because nothing else is possible on this machine.
    case onlyStandard = "only-standard"
}

/// A link that makes a contact.
public struct ContactInvitation: Hashable, Sendable, CustomStringConvertible {
    /// By which `ContactMaking.contact(of:)` knows who used it.
    public let connection: Int64
    /// A secret until it was used.
    public let link: String

    public init(connection: Int64, link: String) {
        self.connection = connection
        self.link = link
    }

    public var description: String { "ContactInvitation(…)" }
}

extension ContactMaking {
    /// For cores whose contacts are made elsewhere.
    public func invite() async throws(ChatError) -> ContactInvitation { throw .contactsMadeElsewhere }
    public func accept(_ link: String) async throws(ChatError) -> Int64 { throw .contactsMadeElsewhere }
    public func contact(of connection: Int64) async throws(ChatError) -> Chat? {
        throw .contactsMadeElsewhere
    }
    public func security(of chat: ChatReference) async throws(ChatError) -> ContactSecurity? {
        throw .contactsMadeElsewhere
    }
    public func verify(_ chat: ChatReference, code: String?) async throws(ChatError) {
        throw .contactsMadeElsewhere
    }
    public func requireVerification(of chat: ChatReference, _ isRequired: Bool) async throws(ChatError) {
        throw ChatError(
            .invalidCommand,
            "This core sends to whoever is not verified too: ChatFS cannot keep it from that.")
    }
    public func renewKeys(of chat: ChatReference) async throws(ChatError) { throw .contactsMadeElsewhere }
    public func moveQueue(of chat: ChatReference) async throws(ChatError) { throw .contactsMadeElsewhere }
}

extension ChatError {
    static let contactsMadeElsewhere = ChatError(
        .invalidCommand, "The contacts of this core are made in its own program.")
}
