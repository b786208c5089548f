/// Connects the profile to contacts over the core's network. `.chatUpdated` reports new contacts. Every
/// command throws `.invalidCommand` for cores whose contacts are managed elsewhere.
public protocol ContactMaking: Sendable {
    /// Creates a one-time link, whose user becomes a contact.
    /// - Throws: `.file(.noRelay)` without a configured server, `.invalidCommand` if the server refuses.
    func invite() async throws(ChatError) -> ContactInvitation

    /// Joins a contact's link. The same link again gives the same contact.
    /// - Returns: the connection's number for `contact(of:)`.
    /// - Throws: `.invalidCommand` for an invalid or used link; `.file(.noRelay)`.
    func accept(_ link: String) async throws(ChatError) -> Int64

    /// Returns the chat of a connection; nil until the peer has connected. Reads the core's local store only.
    /// - Throws: `.invalidCommand` with the reason if the handshake has failed, or the store cannot be read.
    func contact(of connection: Int64) async throws(ChatError) -> Chat?

    /// Returns the encryption of a contact's chat; nil for chats without it, such as between local profiles.
    /// - Throws: `.noSuchChat`.
    func security(of chat: ChatReference) async throws(ChatError) -> ContactSecurity?

    /// Marks a contact's security code as verified, or removes the mark. A change of keys revokes it, and the
    /// chat reports that (`ContactVerification`).
    /// - Parameter code: the compared digits, spaces ignored; nil removes the mark.
    /// - Throws: `.noSuchChat`; `.invalidCommand` if the code differs, there is none, or a key agreement is
    ///   under way.
    func verify(_ chat: ChatReference, code: String?) async throws(ChatError)

    /// Sets whether sending to the contact requires a valid verification.
    /// - Throws: `.noSuchChat`; `.invalidCommand` for a chat without a security code.
    func requireVerification(of chat: ChatReference, _ isRequired: Bool) async throws(ChatError)

    /// Starts an agreement on new keys. Messages wait meanwhile; the security code changes.
    /// - Throws: `.noSuchChat`; `.invalidCommand` without encryption or before the connection is established;
    ///   `.sendingRefused` after its end.
    func renewKeys(of chat: ChatReference) async throws(ChatError)

    /// Moves the profile's queue for a contact to another of its messaging servers. The contact learns of it
    /// through the current queue.
    /// - Throws: `.noSuchChat`; `.invalidCommand` for a local chat, without another server, or before the
    ///   connection is established; `.sendingRefused` after its end.
    func moveQueue(of chat: ChatReference) async throws(ChatError)
}

/// Encryption between a profile and a contact.
public struct ContactSecurity: Hashable, Sendable {
    /// Security code, equal on both sides without a man in the middle.
    public let code: String
    /// nil if the core does not report it.
    public let protection: ContactProtection?
    public let verification: ContactVerification
    /// Whether sending requires a valid verification.
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

/// Strength of the encryption.
public enum ContactProtection: String, Codable, Hashable, Sendable, CaseIterable {
    /// Both directions resist later decryption by quantum computers.
    case postQuantum = "post-quantum"
    /// Elliptic curves only: the peer does not support more, or the first messages are still missing.
    case standard
    /// Elliptic curves only, because this machine lacks the KEM library.
    case onlyStandard = "only-standard"
}

/// A one-time link for a contact.
public struct ContactInvitation: Hashable, Sendable, CustomStringConvertible {
    /// Connection number for `ContactMaking.contact(of:)`.
    public let connection: Int64
    /// Secret until used.
    public let link: String

    public init(connection: Int64, link: String) {
        self.connection = connection
        self.link = link
    }

    public var description: String { "ContactInvitation(…)" }
}

extension ContactMaking {
    /// For cores whose contacts are managed elsewhere.
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
            "This core also sends to unverified contacts; ChatFS cannot prevent that.")
    }
    public func renewKeys(of chat: ChatReference) async throws(ChatError) { throw .contactsMadeElsewhere }
    public func moveQueue(of chat: ChatReference) async throws(ChatError) { throw .contactsMadeElsewhere }
}

extension ChatError {
    static let contactsMadeElsewhere = ChatError(
        .invalidCommand, "The contacts of this core are made in its own program.")
}
