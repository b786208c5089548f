import Base
import ChatCore

/// What a user wants of chats: carried out by the process that has the profile, be it the command itself or, asked
/// with one line of JSON, the daemon of its mount.
public struct ManagingRequest: Codable, Hashable, Sendable {
    public enum Action: String, Codable, Hashable, Sendable {
        case list, rename, leave, delete
        /// Nothing but to find the one that is meant.
        case find
    }

    public var manage: Action
    public var kind: ChatKind
    /// As the user named it (`Chat.named`); missing for the list.
    public var chat: String?
    /// The new name.
    public var name: String?
    /// Names at the beginning of the list that the asker has.
    public var skipped: Int?

    public init(_ action: Action, _ kind: ChatKind, chat: String? = nil, name: String? = nil) {
        manage = action
        self.kind = kind
        self.chat = chat
        self.name = name
    }

    /// Names in one answer, so that it fits into a line.
    static let maxNames = 100

    /// Does it.
    /// - Returns: names of chats: those after `skipped`, not more than `maxNames`, or of the one that was meant.
    /// - Throws: `.noSuchChat` where none, or several, are named; as `ChatManaging`.
    public func carryOut(on core: some ChatReading & ChatManaging) async throws(ChatError) -> [String] {
        let chats = try await core.chats().filter(kind.fits)
        if manage == .list {
            let names = chats.map(\.displayName).sorted()
            return Array(names.dropFirst(max(0, skipped ?? 0)).prefix(Self.maxNames))
        }
        let chat = try Chat.named(self.chat ?? "", in: chats)
        switch manage {
        case .list, .find: break
        case .rename: try await core.renameChat(chat.reference, to: name ?? "")
        case .leave: try await core.leaveChat(chat.reference)
        case .delete: try await core.deleteChat(chat.reference)
        }
        return [chat.displayName]
    }
}

/// The daemon's answer: one line of JSON.
struct ManagingReply: Codable, Hashable {
    var names: [String]?
    /// Why not.
    var problem: String?
}

extension ManagingRequest {
    func reply(from core: any ChatCore) async -> ManagingReply {
        do throws(ChatError) {
            return ManagingReply(names: try await carryOut(on: core))
        } catch {
            return ManagingReply(problem: error.sentence)
        }
    }
}
