import Base
import ChatCore
import JSON

/// A message with its chat (`AChatItem`).
public struct APIItem: Hashable, Sendable {
    /// The reason why an item is only a stub without its file.
    public enum Deletion: String, Hashable, Sendable {
        case deleted, blocked, blockedByAdmin, moderated
    }

    public var chat: APIChatInfo
    public var id: ItemID
    public var direction: ChatItem.Direction
    /// Display name of the member or contact; nil for the user.
    public var sender: String?
    /// `itemTs`: for received items the server's time.
    public var time: Timestamp
    /// Time when the core stored it, the order of items in contact chats.
    public var createdAt: Timestamp
    /// nil for items without a message (group events, calls, banners).
    public var content: MessageContent?
    public var file: APIFile?
    public var deletion: Deletion?
    /// A disappearing message.
    public var disappears: Bool
    /// Received and read by the user, which starts the timer of a disappearing message.
    public var isRead: Bool

    /// An `AChatItem` pair.
    init?(pair json: JSONValue) {
        guard let info = json["chatInfo"].flatMap(APIChatInfo.init(info:)), let item = json["chatItem"] else {
            return nil
        }
        self.init(item, in: info)
    }

    /// A `ChatItem` of a page.
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

    /// Converts to ChatFS's type; nil for a stub or an item without a message.
    /// - Parameter own: Name of the user's profile.
    public func chatItem(own: String, filesFolder: String) -> ChatItem? {
        guard let content, deletion == nil || isDeletedBySender else { return nil }
        return ChatItem(
            id: id, chat: chat.reference.chat, direction: direction, sender: sender ?? own, time: time,
            content: content, file: file?.chatFile(filesFolder: filesFolder, of: time),
            isDeletedBySender: isDeletedBySender)
    }

    /// Deleted by its sender without agreement on full deletion, so the core keeps the file and apps show
    /// both.
    var isDeletedBySender: Bool { deletion == .deleted && direction == .received }
}

extension MessageContent {
    /// `msgContent`. Kinds without their own preview (links, reports, later ones) become text.
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
    /// The stub in its place, if any.
    public var replacement: APIItem?
    public var reason: DeletionReason

    init?(_ json: JSONValue, isTimed: Bool) {
        guard let item = json["deletedChatItem"].flatMap(APIItem.init(pair:)) else { return nil }
        self.item = item
        replacement = json["toChatItem"].flatMap(APIItem.init(pair:))
        reason = isTimed ? .disappeared : replacement?.deletion?.reason ?? .deleted
    }

    /// An item deleted by its sender that the core keeps.
    var kept: APIItem? { replacement?.isDeletedBySender == true && reason == .deleted ? replacement : nil }

    /// Decodes `chatItemsDeleted`, whose `timed` says for all items whether they expired. A moderator always
    /// leaves a stub; a sender leaves one only without full deletion.
    static func all(_ json: JSONValue) -> [APIDeletion] {
        let isTimed = json["timed"]?.bool ?? false
        return (json["chatItemDeletions"]?.elements ?? []).compactMap { APIDeletion($0, isTimed: isTimed) }
    }
}

extension APIItem.Deletion {
    /// The reason of the deletion. `blocked` is the user's own action.
    var reason: DeletionReason {
        switch self {
        case .moderated, .blockedByAdmin: .moderated
        case .deleted, .blocked: .deleted
        }
    }
}
