/// Whether the user verified a contact's security code.
public enum ContactVerification: String, Codable, Hashable, Sendable, CaseIterable {
    /// Never, or no longer by the user's choice.
    case unverified
    /// Verified with the current keys.
    case verified
    /// Verified with earlier keys that were replaced since.
    case revoked

    /// Warning for the user wherever the chat is shown; nil for none.
    public var warning: String? {
        switch self {
        case .unverified, .verified: nil
        case .revoked:
            "The security code of this contact is not the one that you verified: the keys have changed. Compare the new "
                + "one with the contact over another way: 'chatfs contact verify'."
        }
    }

    /// Why sending is refused if verification is required; nil if verified.
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
