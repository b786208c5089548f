import Base
import ChatCore
import JSON

/// A message with the chat it is in (`AChatItem`).
public struct APIItem: Hashable, Sendable {
    /// An item that is kept as a stub: its file is gone for the user.
    public enum Deletion: String, Hashable, Sendable {
        case deleted, blocked, blockedByAdmin, moderated
    }

    public var chat: APIChatInfo
    public var id: ItemID
    public var direction: ChatItem.Direction
    /// Display name of the member or contact; nil for the user's own.
    public var sender: String?
    /// `itemTs`: the broker's time for received items.
    public var time: Timestamp
    /// When the core stored it: the order of contacts' chats.
    public var createdAt: Timestamp
    /// nil for items that are no messages (events of a group, calls, banners).
    public var content: MessageContent?
    public var file: APIFile?
    public var deletion: Deletion?
    /// A disappearing message.
    public var disappears: Bool
    /// Received, and read by the user: the time of a disappearing message runs from there.
    public var isRead: Bool
    /// Own, and young enough to be deleted for everyone.
    public var isDeletable: Bool
    public var isEdited: Bool

    /// An `AChatItem` pair.
    init?(pair json: JSONValue) {
        guard let info = json["chatInfo"].flatMap(APIChatInfo.init(info:)), let item = json["chatItem"] else {
            return nil
        }
        self.init(item, in: info)
    }

    /// A `ChatItem` of a chat's page.
    init?(_ json: JSONValue, in chat: APIChatInfo) {
        guard let meta = json["meta"], let id = meta["itemId"]?.integer, id > 0 else { return nil }
        self.chat = chat
        self.id = ItemID(id)
        let direction = json["chatDir"]
        self.direction = direction?.type?.hasSuffix("Snd") == true ? .sent : .received
        sender = self.direction == .sent ? nil : Self.sender(direction, in: chat)
        time = Self.time(meta["itemTs"]) ?? Timestamp(seconds: 0)
        createdAt = Self.time(meta["createdAt"]) ?? time
        content = json["content"]?["msgContent"].map(MessageContent.init(api:))
        file = json["file"].flatMap(APIFile.init)
        deletion = meta["itemDeleted"].map { $0.type.flatMap(Deletion.init) ?? .deleted }
        disappears = meta["itemTimed"] != nil
        isRead = meta["itemStatus"]?.type == "rcvRead"
        isDeletable = meta["deletable"]?.bool ?? false
        isEdited = meta["itemEdited"]?.bool ?? false
    }

    private static func sender(_ direction: JSONValue?, in chat: APIChatInfo) -> String {
        guard let member = direction?["groupMember"] else { return chat.displayName }
        let names = [
            member["memberProfile"]?["localAlias"], member["memberProfile"]?["displayName"],
            member["localDisplayName"],
        ]
        return names.lazy.compactMap { $0?.string }.first { !$0.isEmpty } ?? chat.displayName
    }

    private static func time(_ json: JSONValue?) -> Timestamp? {
        json?.string.flatMap { Timestamp(iso8601: $0) }
    }

    /// The item in the words of ChatFS; nil when it is no message or a stub. `own` is the name of the
    /// user's profile.
    public func chatItem(own: String, filesFolder: String) -> ChatItem? {
        guard let content, deletion == nil || isDeletedBySender else { return nil }
        return ChatItem(
            id: id, chat: chat.reference.chat, direction: direction, sender: sender ?? own, time: time,
            content: content, file: file?.chatFile(filesFolder: filesFolder, of: time),
            isDeletedBySender: isDeletedBySender)
    }

    /// Its sender deleted it where no full deletion is agreed on: the core keeps its file, and shows both in the apps.
    var isDeletedBySender: Bool { deletion == .deleted && direction == .received }
}

extension MessageContent {
    /// `msgContent`. Kinds that carry no preview of their own (links, reports, later ones) are text.
    init(api json: JSONValue) {
        let seconds = Int(clamping: json["duration"]?.integer ?? 0)
        let preview = json["image"]?.string ?? ""
        let kind: Kind =
            switch json.type {
            case "file": .file
            case "image": .image(preview: preview)
            case "video": .video(preview: preview, seconds: max(0, seconds))
            case "voice": .voice(seconds: max(0, seconds))
            default: .text
            }
        self.init(kind: kind, text: json["text"]?.string ?? "")
    }
}

/// One deletion of `chatItemsDeleted`.
public struct APIDeletion: Hashable, Sendable {
    public var item: APIItem
    /// What is left in its place, a stub; nil when nothing is.
    public var replacement: APIItem?
    public var reason: DeletionReason

    init?(_ json: JSONValue, isTimed: Bool) {
        guard let item = json["deletedChatItem"].flatMap(APIItem.init(pair:)) else { return nil }
        self.item = item
        replacement = json["toChatItem"].flatMap(APIItem.init(pair:))
        reason = isTimed ? .disappeared : replacement?.deletion?.reason ?? .deleted
    }

    /// What its sender deleted, and the core keeps.
    var kept: APIItem? { replacement?.isDeletedBySender == true && reason == .deleted ? replacement : nil }

    /// Those of `chatItemsDeleted`, which says of all together whether their time was over (`timed`). A
    /// moderator leaves a stub, also where the group deletes in full; a sender does only where it does not.
    static func all(_ json: JSONValue) -> [APIDeletion] {
        let isTimed = json["timed"]?.bool ?? false
        return (json["chatItemDeletions"]?.elements ?? []).compactMap { APIDeletion($0, isTimed: isTimed) }
    }
}

extension APIItem.Deletion {
    /// Why the item is not there any more. `blocked` is the user's own doing.
    var reason: DeletionReason {
        switch self {
        case .moderated, .blockedByAdmin: .moderated
        case .deleted, .blocked: .deleted
        }
    }
}
