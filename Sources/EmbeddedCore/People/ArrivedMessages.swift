import Base
import ChatCore
import ChatProtocol

/// Applies the effects of network messages in the transaction that receives them. Resulting events and
/// transfers go through the profile's inbox, like messages of local profiles.
struct ArrivedMessages {
    let change: ProfileChange
    let side: ChatSide
    /// Name of the contact or group.
    let sender: String

    /// Returns the display name of a message's author.
    private func name(of key: MessageKey) throws -> String {
        guard case .member(let id) = key.author else {
            return try key.author == .own ? change.ownName : sender
        }
        return try change.tables.groups.member(id, of: side.chat)?.profile.displayName ?? sender
    }

    private var messages: SharedMessageTable { change.tables.sharedMessages }

    /// Applies effects. Returns whether to send a receipt.
    func perform(_ effects: [ConversationEffect]) throws -> Bool {
        var isReceiptDue = false
        for effect in effects {
            if case .receiptDue = effect { isReceiptDue = true } else { try perform(effect) }
        }
        return isReceiptDue
    }

    private func perform(_ effect: ConversationEffect) throws {
        switch effect {
        case .received(let message): try take(message, content: message.message.content)
        case .completed(let message): try take(message, content: message.message.content)
        case .changed(let key, let update, let time, let isNew):
            if isNew {
                let record = MessageRecord(time: time, state: .onlyChanged, hasFile: false)
                try messages.keep(record, of: key, in: side.chat, item: nil)
            } else {
                try setContent(update.content, of: key)
            }
            var line = try line(.edit, of: key, at: time, update.content)
            line.isLive = update.isLive
            line.isForModerators = update.scope != nil
            if isNew { line.disappears = try end(update.timeToLive) }
            try change.write(line, to: side)
        case .deleted(let key, let time, let actor): try delete(key, at: time, keepsFile: actor == .author)
        case .descriptionGrew(let key, let description, let part):
            try messages.keep(description, after: part, of: key, in: side.chat)
        case .described(let key, let text): try describe(key, text)
        case .fileCancelled(let key): try withdraw(key)
        case .profileChanged(let profile):
            try change.tables.chats.renameContact(profile.displayName, of: side.chat)
            try change.follow(profile, in: side)
            try change.post(.chatUpdated, to: side)
        case .ended(let end):
            try change.tables.chats.end(side.chat, StoredChatEnding(end))
            try change.endConnections(of: side)
            try change.failInlineTransfers(in: side)
            try change.post(.chatUpdated, to: side)
        case .seen(let key): try messages.noteSeen(key, in: side.chat)
        case .groupProfileChanged(let profile):
            try change.follow(profile, in: side)
            try change.tables.chats.renameContact(profile.displayName, of: side.chat)
            try change.post(.chatUpdated, to: side)
        case .memberChanged(let member): try change.tables.groups.keep(member, of: side.chat)
        case .memberIntroduced(let id, let host):
            try change.begin(MemberConnection(to: id, introducer: host), in: side.chat)
        case .newcomerInvites(let id, let link, let introducer):
            try change.begin(
                MemberConnection(to: id, introducer: introducer, phase: .toJoin, link: link), in: side.chat)
        case .memberGone(let id): try change.endConnection(with: id, in: side)
        case .passedOnNeedlessly(let forwarder, let author):
            guard try change.tables.memberConnections.noteTold(of: author, in: side.chat, at: change.elapsed)
            else { break }
            try change.tell(.memberConnected(author), to: forwarder, in: side.chat)
        case .messagesOfMemberDeleted(let id):
            for key in try messages.keys(by: id, in: side.chat) { try delete(key, at: change.time) }
        case .invitedToGroup(let invitation):
            try ArrivedRequests(change: change, time: change.time).take(invitation, in: side.chat)
        case .transferBegan(let key):
            if let (item, file) = try file(of: key) {
                try change.beginInline(file, of: item, by: key.author, in: side)
            }
        case .transferGrew(let key, let transfer, let bytes):
            if let file = try file(of: key)?.id { try change.keepInline(bytes, as: transfer, of: file) }
        case .transferFailed(let key, let failure):
            guard let (item, file) = try file(of: key) else { break }
            try change.failInline(file, item, failure, in: side)
        // Reactions are not shown. An `x.file.acpt.inv` for a file sent by description needs no reply: the
        // recipient has the description.
        case .reacted, .fileAccepted, .receiptDue: break
        }
    }

    private func line(
        _ event: MessageLine.Event, of key: MessageKey, at time: Timestamp, _ content: ChatContent? = nil
    ) throws -> MessageLine {
        var line = MessageLine(
            event, of: key.id, at: time, key.author == .own ? .sent : .received, by: try name(of: key),
            content)
        line.author = key.author
        return line
    }

    /// Returns the expiry of content received now. Its time starts on arrival, as reading is not recorded.
    private func end(_ seconds: Int?) throws -> Timestamp? {
        try change.tables.retention.end(ofReceived: seconds, in: side.chat, at: change.time)
    }

    /// Stores a message. It becomes an item if it has a file; every message becomes a log line.
    private func take(_ message: IncomingMessage, content: ChatContent) throws {
        var item: ItemID?
        if let file = message.message.file, !message.isHidden {
            item = try change.tables.items.insertReceived(
                networkMessage(file, content, of: message), in: side.chat)
        }
        let record = MessageRecord(time: message.time, hasFile: item != nil)
        try messages.keep(record, of: message.key, in: side.chat, item: item)
        try change.tables.chats.noteMessage(in: side.chat, at: min(message.time, likely(message.time)))
        if message.isHidden { return }
        var line = try line(.message, of: message.key, at: message.time, content)
        line.quote = message.message.quote
        line.isForwarded = message.message.isForwarded
        line.isLive = message.message.isLive
        line.isForModerators = message.message.scope != nil
        if let item, let file = message.message.file {
            line.file = MessageLine.File(
                name: file.name, size: min(file.size, FilePolicy.standaloneLimit), item: item)
        } else {
            line.disappears = try end(message.message.timeToLive)
        }
        try change.write(line, to: side)
        guard let item else { return }
        try change.post(.newItem(item), to: side)
        if let file = message.message.file, file.way == .offeredInline, file.transfer != nil {
            try change.receiveAutomatically(item, from: message.key.author, in: side.chat)
        }
    }

    private func networkMessage(
        _ file: FileInvitation, _ content: ChatContent, of incoming: IncomingMessage
    ) throws -> ItemTable.NetworkMessage {
        let time = incoming.time
        var message = ItemTable.NetworkMessage(
            sender: try name(of: incoming.key), time: time, content: MessageContent(content),
            created: likely(time), fileName: file.name, size: min(file.size, FilePolicy.standaloneLimit),
            transport: file.isInline ? .smp : .xftp,
            disappears: try end(incoming.message.timeToLive),
            isForModerators: incoming.message.scope != nil)
        change.noteDisappearing(at: message.disappears)
        switch file.way {
        case .described where file.size > FilePolicy.standaloneLimit: message.problem = .tooLargeToReceive
        case .described: message.expires = message.created.advanced(by: FilePolicy.relayRetention)
        case .offeredInline, .sentInline:
            if file.transfer == nil { message.problem = .tooLargeForMessages }
        case .unsupported:
            message.problem = FileProblem(
                .other, "The sender's program sends this file in a way that ChatFS does not support.")
        }
        return message
    }

    /// Clamps a claimed time to the plausible range: servers keep messages for three weeks, and clocks
    /// differ. Forwarders and servers can claim any time.
    private func likely(_ time: Timestamp) -> Timestamp {
        let (earliest, latest) = (
            change.time.advanced(by: .seconds(-22 * 86_400)), change.time.advanced(by: .seconds(3600))
        )
        return min(max(time, earliest), latest)
    }

    private func setContent(_ content: ChatContent, of key: MessageKey) throws {
        guard let item = try messages.item(key, in: side.chat) else { return }
        try change.tables.items.setContent(MessageContent(content), of: item)
        if let changed = try change.tables.items.item(item) { change.tell(.itemChanged(changed, .updated)) }
    }

    /// - Parameter keepsFile: whether to keep an item whose file is here, marked as deleted by its sender.
    private func delete(_ key: MessageKey, at time: Timestamp, keepsFile: Bool = false) throws {
        let item = try messages.item(key, in: side.chat)
        if try messages.record(of: key, in: side.chat) != nil {
            try change.write(line(.deletion, of: key, at: time), to: side)
        }
        try messages.forget(key, in: side.chat, at: time)
        guard let item, let found = try change.tables.items.deletable(item, in: side.chat) else { return }
        if keepsFile, found.status == .rcvComplete {
            try change.tables.items.noteDeletedBySender(item)
            if let kept = try change.tables.items.item(item) { change.tell(.itemChanged(kept, .updated)) }
            return
        }
        try change.tables.items.delete(item)
        try change.post(.deleted(item, storedName: found.storedName), to: side)
    }

    private func describe(_ key: MessageKey, _ text: String) throws {
        guard let (item, file) = try file(of: key) else { return }
        try change.tables.uploads.describe(file, text)
        try change.post(.described(item), to: side)
    }

    private func withdraw(_ key: MessageKey) throws {
        guard let (item, file) = try file(of: key) else { return }
        guard try change.tables.uploads.withdraw(file) else { return }
        try change.tables.inlineTransfers.end(file)
        try change.post(.cancelled(item), to: side)
    }

    private func file(of key: MessageKey) throws -> (item: ItemID, id: FileID)? {
        guard let item = try messages.item(key, in: side.chat),
            let file = try change.tables.items.item(item)?.file?.id
        else { return nil }
        return (item, file)
    }
}

extension MessageContent {
    /// Other kinds become files, as only messages with a file are shown.
    init(_ content: ChatContent) {
        let kind: Kind =
            switch content.kind {
            case .image(let preview): .image(preview: preview)
            case .video(let preview, let seconds): .video(preview: preview, seconds: seconds)
            case .voice(let seconds): .voice(seconds: seconds)
            case .text, .link, .file, .report, .chat, .unknown: .file
            }
        self.init(kind: kind, text: content.text)
    }
}

extension ChatContent {
    init(_ content: MessageContent) {
        let kind: Kind =
            switch content.kind {
            case .text: .text
            case .file: .file
            case .image(let preview): .image(preview: preview)
            case .video(let preview, let seconds): .video(preview: preview, seconds: seconds)
            case .voice(let seconds): .voice(seconds: seconds)
            }
        self.init(kind, text: content.text)
    }
}
