import ChatCore

/// The result of a `ContactRequest`.
public struct ContactAnswer: Codable, Hashable, Sendable {
    /// The connection to pass to `look`.
    public var connection: Int64?
    /// The new link. A secret.
    public var link: String?
    /// Name of the chat with the peer that connected.
    public var name: String?
    /// Reference of that chat.
    public var chat: String?
    /// Absolute path of the chat's folder; nil without a mount.
    public var folder: String?
    /// For `verify`.
    public var code: String?
    public var protection: ContactProtection?
    public var verification: ContactVerification?
    public var isVerificationRequired: Bool?
    /// For the address.
    public var acceptance: RequestAcceptance?
    /// A sentence that tells why requests cannot reach the address.
    public var addressProblem: String?
    /// Pending requests.
    public var requests: [WaitingRequest]?
    /// One page; empty after the last one.
    public var connections: [ListedConnection]?
}

extension ContactAnswer {
    init(name: String, _ security: ContactSecurity?) {
        self.init(
            name: name, code: security?.code, protection: security?.protection,
            verification: security?.verification, isVerificationRequired: security?.isVerificationRequired)
    }

    init(_ address: ContactAddress) {
        self.init(
            link: address.link, acceptance: address.acceptance, addressProblem: address.problem)
    }
}
