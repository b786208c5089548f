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
    /// As the user named it (`NamedChats`); missing for the list.
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
    /// - Throws: `.noSuchChat` where none, or several, are named; `.nameTaken` where the new name selects another chat;
    ///   as `ChatManaging` and `FolderNaming`.
    public func carryOut(
        on core: some ChatReading & ChatManaging, naming: some FolderNaming
    ) async throws(ChatError) -> [String] {
        let chats = try await naming.chats(of: core)
        if manage == .list {
            let names = chats.only(kind).all.map(\.name).sorted()
            return Array(names.dropFirst(max(0, skipped ?? 0)).prefix(Self.maxNames))
        }
        let chat = try chats.only(kind).chat(self.chat ?? "")
        switch manage {
        case .list, .find: break
        case .rename:
            let name = name ?? ""
            try chats.check(alias: name, of: chat.reference)
            try await core.renameChat(chat.reference, to: name)
        case .leave: try await core.leaveChat(chat.reference)
        case .delete: try await core.deleteChat(chat.reference)
        }
        return [chat.name]
    }
}

/// The daemon's answer: one line of JSON.
struct ManagingReply: Codable, Hashable {
    var names: [String]?
    /// Why not.
    var problem: String?
}

extension ManagingRequest {
    func reply(from core: any ChatCore, naming: some FolderNaming) async -> ManagingReply {
        do throws(ChatError) {
            return ManagingReply(names: try await carryOut(on: core, naming: naming))
        } catch {
            return ManagingReply(problem: error.sentence)
        }
    }
}
