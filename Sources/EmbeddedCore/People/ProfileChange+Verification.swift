import ChatCore

extension ProfileChange {
    /// Revokes a contact's verification if its security code differs from the current one.
    func revokeVerification(of chat: Int64, presentCode code: String?) throws {
        var verification = try tables.chats.verification(of: chat)
        guard verification.state == .verified, verification.code != code else { return }
        (verification.state, verification.code) = (.revoked, nil)
        try tables.chats.set(verification, of: chat)
        log.warning("verification revoked, security code changed: chat=\(chat)")
        try post(.chatUpdated, to: ChatSide(profile: profile, chat: chat))
    }
}
