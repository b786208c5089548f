import Agent
import Base
import ChatCore

/// Security codes of network contacts and their verification.
extension People {
    /// Returns the encryption of a contact's connection.
    func security(of chat: ChatReference) async throws(ChatError) -> ContactSecurity? {
        guard let connection = try await connection(of: chat) else { return nil }
        return try await connecting {
            guard let security = try await agent().security(of: connection) else { return nil }
            // An event with the same change may be on its way.
            let verification = try await store.committing { [store] change in
                let id = try change.tables.chats.id(of: chat, of: store.profile.id)
                try change.revokeVerification(of: id, presentCode: security.code)
                return try change.tables.chats.verification(of: id)
            }
            return ContactSecurity(
                code: security.code, protection: ContactProtection(security),
                verification: verification.state, isVerificationRequired: verification.isRequired)
        }
    }

    func verify(_ chat: ChatReference, code: String?) async throws(ChatError) {
        guard let security = try await security(of: chat) else { throw Self.noCode }
        if let code, Self.digits(of: code) != Self.digits(of: security.code) {
            throw ChatError(
                .invalidCommand,
                "The codes differ: these are not the digits of this contact, or somebody is in between.")
        }
        try await change(chat) { verification in
            verification.state = code == nil ? .unverified : .verified
            verification.code = code == nil ? nil : security.code
        }
    }

    func requireVerification(of chat: ChatReference, _ isRequired: Bool) async throws(ChatError) {
        guard try await security(of: chat) != nil else { throw Self.noCode }
        try await change(chat) { $0.isRequired = isRequired }
    }

    /// Stores the verification and applies it to the agent, where earlier messages wait.
    private func change(
        _ chat: ChatReference, _ body: @escaping @Sendable (inout ChatTable.Verification) -> Void
    ) async throws(ChatError) {
        guard let connection = try await connection(of: chat) else { throw Self.noCode }
        let verification = try await store.committing { [store] change in
            let id = try change.tables.chats.id(of: chat, of: store.profile.id)
            guard try change.tables.chats.keys(of: id) == nil else { throw Self.changingKeys }
            var verification = try change.tables.chats.verification(of: id)
            body(&verification)
            try change.tables.chats.set(verification, of: id)
            try change.announce([ChatSide(profile: store.profile.id, chat: id)])
            return verification
        }
        try await connecting {
            let code = verification.isRequired ? verification.code ?? "" : nil
            try await agent().requireSecurity(code, of: connection)
        }
    }

    private static func digits(of code: String) -> String { code.filter { !$0.isWhitespace } }

    private static let noCode = ChatError(
        .invalidCommand,
        "This chat has no security code: it is not with a network contact, or not connected yet.")
    private static let changingKeys = ChatError(
        .invalidCommand,
        "This profile and the contact are just agreeing on new keys: verify these afterwards.")
}
