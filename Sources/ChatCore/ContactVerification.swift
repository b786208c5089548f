/// Whether the user has compared the security code of a contact with them.
public enum ContactVerification: String, Codable, Hashable, Sendable, CaseIterable {
    /// Never, or the user has taken it back.
    case unverified
    /// With the present keys.
    case verified
    /// With earlier keys: other ones have taken their place since.
    case revoked

    /// What the user is told wherever the chat is, and what helps; nil for nothing.
    public var warning: String? {
        switch self {
        case .unverified, .verified: nil
        case .revoked:
            "The security code of this contact is not the one that you verified: the keys have changed. Compare the new "
                + "one with the contact over another way: 'chatfs contact verify'."
        }
    }

    /// Why nothing is sent to who has to be verified; nil: it is.
    public var refusal: String? {
        switch self {
        case .verified: nil
        case .unverified:
            "You want nothing sent to this contact before its security code is verified: 'chatfs contact verify'."
        case .revoked:
            "You want nothing sent to this contact before its security code is verified, and it has changed since it was: "
                + "'chatfs contact verify'."
        }
    }
}
