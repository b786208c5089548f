import ChatCore

/// Becoming a contact: done by the process that has the profile, be it the command itself or, asked with one line of
/// JSON, the daemon of its mount.
public struct ContactRequest: Codable, Hashable, Sendable {
    public enum Step: String, Codable, Hashable, Sendable {
        /// Make a link.
        case invite
        /// Use one.
        case accept
        /// Look who has connected.
        case look
        /// Tell the digits by which both sides know that nobody is in between.
        case verify
    }

    public var connecting: Step
    /// Of `accept`. A secret.
    public var link: String?
    /// Of `look`.
    public var connection: Int64?
    /// Of `verify`: as the user named it (`Chat.named`).
    public var chat: String?

    public static let invite = ContactRequest(connecting: .invite)
    public static func accept(_ link: String) -> ContactRequest {
        ContactRequest(connecting: .accept, link: link)
    }
    public static func look(_ connection: Int64) -> ContactRequest {
        ContactRequest(connecting: .look, connection: connection)
    }

    public static func verify(_ chat: String) -> ContactRequest {
        ContactRequest(connecting: .verify, chat: chat)
    }

    public func carryOut(
        on core: any ContactMaking & ChatReading
    ) async throws(ChatError) -> ContactAnswer {
        switch connecting {
        case .invite:
            let invitation = try await core.invite()
            return ContactAnswer(connection: invitation.connection, link: invitation.link)
        case .accept: return ContactAnswer(connection: try await core.accept(link ?? ""))
        case .look: return ContactAnswer(name: try await core.contact(of: connection ?? 0)?.displayName)
        case .verify:
            let chats = try await core.chats().filter(ChatKind.contact.fits)
            let chat = try Chat.named(chat ?? "", in: chats)
            return ContactAnswer(
                name: chat.displayName, code: try await core.securityCode(of: chat.reference))
        }
    }

    func reply(from core: any ContactMaking & ChatReading) async -> ContactAnswer {
        do throws(ChatError) {
            return try await carryOut(on: core)
        } catch {
            return ContactAnswer(problem: error.sentence)
        }
    }
}

/// The answer: one line of JSON.
public struct ContactAnswer: Codable, Hashable, Sendable {
    /// By which it is looked who has connected.
    public var connection: Int64?
    /// That was made. A secret.
    public var link: String?
    /// Of the chat with who has connected.
    public var name: String?
    /// Of `verify`.
    public var code: String?
    /// Why not.
    var problem: String?
}
