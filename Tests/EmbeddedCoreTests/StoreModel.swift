import Base
import ChatCore
import Network
import XFTP

@testable import EmbeddedCore

/// A model of `DirectoryStore` in plain collections. Ids come from the store; all else follows `docs/user/files.md`
/// and `docs/user/sending.md`.
struct StoreModel {
    struct ModelChat {
        var id: Int64
        var profile: Int64
        var kind: StoredChatKind
        /// The contact's profile, or the group's id.
        var contact: Int64?
        var group: Int64?
        var updated: Timestamp
        var alias: String?
        var ending: StoredChatEnding?
    }

    struct ModelItem {
        var id: ItemID
        var file: FileID
        var profile: Int64
        var chat: Int64
        var origin: ItemID?
        var message: String?
        var direction: ChatItem.Direction
        var sender: String
        var time: Timestamp
        var created: Timestamp
        var content: MessageContent
        var name: String
        var size: UInt64
        var transport: ChatFile.Transport
        var status: StoredFileStatus
        var problem: FileProblem?
        var storedName: String?
        var arguments: FileArguments?
        var expires: Timestamp?
        var inlineContent: String?
        var recipient: Int?
        var description: String?
        var isRequested = false
        var isApproved = false
    }

    struct ModelEntry: Equatable {
        var id: Int64
        var side: ChatSide
        var entry: InboxEntry
    }

    var profiles: [Profile] = []
    var groups: [Int64: String] = [:]
    var chats: [ModelChat] = []
    var items: [ModelItem] = []
    var inbox: [ModelEntry] = []
    var relays: [Int64: [RelayWithPassword]] = [:]
    var approvals: [Int64: Set<ServerPlace>] = [:]
    var policies: [Int64: RelayApprovalPolicy] = [:]
    var deletions: [FileID: (profile: Int64, deletion: ChunkDeletionTable.Deletion)] = [:]

    // MARK: - Reading

    func name(of profile: Int64) -> String? { profiles.first { $0.id == profile }?.displayName }

    func chat(_ chat: ModelChat) -> Chat {
        let shared = chat.contact.flatMap(name(of:)) ?? chat.group.flatMap { groups[$0] } ?? ""
        return Chat(
            reference: chat.kind.reference(chat.id),
            displayName: chat.kind == .notes ? "Saved notes" : chat.alias ?? shared,
            updatedAt: chat.updated, sendingRefused: chat.ending?.sentence, isNamedByUser: chat.alias != nil,
            supportedActions: chat.kind == .notes ? [.upload, .messages] : .all)
    }

    func item(_ item: ModelItem) -> ChatItem? {
        guard let chat = chats.first(where: { $0.id == item.chat }) else { return nil }
        return ChatItem(
            id: item.id, chat: chat.kind.reference(chat.id), direction: item.direction, sender: item.sender,
            time: item.time, content: item.content,
            file: ChatFile(
                id: item.file, name: item.name, size: item.size,
                status: item.status.status(
                    TransferProgress(done: 0, total: 0), item.problem ?? FileProblem(.other, ""),
                    isDescribed: item.description != nil || item.transport == .inline),
                transport: item.transport,
                source: item.storedName.flatMap { name in
                    item.arguments.map { FileSourceLocation(path: "/files/" + name, arguments: $0) }
                },
                expires: item.expires))
    }

    func recipients(of chat: Int64) -> [ChatSide] {
        guard let own = chats.first(where: { $0.id == chat }), own.ending == nil else { return [] }
        return chats.filter { other in
            guard other.ending == nil else { return false }
            if let contact = own.contact { return other.profile == contact && other.contact == own.profile }
            return own.group != nil && other.group == own.group && other.profile != own.profile
        }
        .map { ChatSide(profile: $0.profile, chat: $0.id) }
        .sorted { $0.profile < $1.profile }
    }

    // MARK: - Changes

    mutating func changeItem(_ file: FileID, _ change: (inout ModelItem) -> Void) {
        guard let index = items.firstIndex(where: { $0.file == file }) else { return }
        change(&items[index])
    }

    mutating func changeChat(_ chat: Int64, _ change: (inout ModelChat) -> Void) {
        guard let index = chats.firstIndex(where: { $0.id == chat }) else { return }
        change(&chats[index])
    }

    /// Like `ChatTable.leave`. Returns the changed sides.
    mutating func leave(_ chat: Int64) -> Set<ChatSide> {
        guard let own = chats.first(where: { $0.id == chat }) else { return [] }
        changeChat(chat) { $0.ending = $0.ending ?? .left }
        var changed: Set = [ChatSide(profile: own.profile, chat: chat)]
        for other in chats
        where own.contact != nil && other.profile == own.contact && other.contact == own.profile
            && other.ending == nil
        {
            changeChat(other.id) { $0.ending = .contactLeft }
            changed.insert(ChatSide(profile: other.profile, chat: other.id))
        }
        return changed
    }
}
