import Base
import ChatCore

/// A request about chats. The process that has the profile carries it out: the command itself, or the daemon of its
/// mount.
public struct ChatManagementRequest: ControlRequest {
    /// See `carryOut`.
    public typealias Answer = [String]

    public enum Action: String, Codable, Hashable, Sendable {
        case list, rename, leave, delete
        /// Only resolve the name. Returns the reference after it.
        case find
    }

    public var action: Action
    public var kind: ChatKind
    /// The chat's name as the user typed it (`NamedChats`); nil for `list`.
    public var chat: String?
    /// The new name.
    public var name: String?
    /// For `list`: number of names already received.
    public var skipped: Int?

    public var method: ControlMethod { .chats }

    public init(_ action: Action, _ kind: ChatKind, chat: String? = nil, name: String? = nil) {
        self.action = action
        self.kind = kind
        self.chat = chat
        self.name = name
    }

    /// Maximum number of names per reply, which must fit into a line.
    static let maxNames = 100

    /// Carries out the request.
    /// - Returns: Names of chats: for a list, at most `maxNames` after `skipped`; else the affected chat's.
    /// - Throws: `.noSuchChat` if no chat or several match, `.nameTaken` if the new name selects another chat, and the
    ///   errors of `ChatManaging` and `FolderNaming`.
    public func carryOut(
        on core: any ChatReading & ChatManaging, naming: some FolderNaming
    ) async throws(ChatError) -> [String] {
        let chats = try await naming.chats(of: core)
        if action == .list {
            let names = chats.only(kind).all.map(\.name).sorted()
            return Array(names.dropFirst(max(0, skipped ?? 0)).prefix(Self.maxNames))
        }
        let chat = try chats.only(kind).chat(self.chat ?? "")
        switch action {
        case .list: break
        case .find: return [chat.name, "\(chat.reference)"]
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
