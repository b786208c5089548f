import Base
import Testing

@testable import ChatProtocol

/// In-memory records of a chat that apply effects literally.
struct MemoryRecords: ConversationRecords {
    struct Item: Equatable {
        var record: MessageRecord
        var content: ChatContent
        var file: FileInvitation?
        var description: String?
        var isCancelled = false
        var isHidden = false
        var reactions: Set<String> = []
        var transfer: InlineTransfer?
        var isAsked = false
        /// Content of an inline file.
        var bytes: [UInt8] = []
        var failure: InlineTransfer.Failure?
    }

    var items: [MessageKey: Item] = [:]
    var seen: Set<MessageKey> = []
    var partial: [MessageKey: PartialDescription] = [:]
    var parts: [MessageKey: [String]] = [:]
    var members: [MemberID: GroupMember] = [:]
    var profiles: [ContactProfile] = []
    var groupProfiles: [GroupProfile] = []
    var ends: [ChatEnd] = []
    var receipts = 0
    var invitations: [GroupInvitation] = []
    var accepted: [SharedMessageID] = []
    var connections: [MemberID: MemberConnection] = [:]
    /// Forwarders that must be told to stop.
    var needless: [MemberID: MemberID] = [:]

    func message(_ key: MessageKey) -> MessageRecord? { items[key]?.record }
    func isSeen(_ key: MessageKey) -> Bool { seen.contains(key) }
    func description(of key: MessageKey) -> PartialDescription? { partial[key] }
    func descriptionText(of key: MessageKey) -> String { parts[key, default: []].joined() }
    func transfer(of key: MessageKey) -> InlineTransfer? { items[key]?.transfer }

    func unaskedTransfers(by author: Author) -> [MessageKey] {
        items.filter { $0.key.author == author && $0.value.transfer != nil && !$0.value.isAsked }.keys
            .sorted { $0.id.bytes.lexicographicallyPrecedes($1.id.bytes) }
    }

    /// Requests an offered inline file.
    mutating func ask(for key: MessageKey) {
        begin(key)
        items[key]?.isAsked = true
    }

    private mutating func begin(_ key: MessageKey) {
        let transfer = items[key]?.file?.transfer
        items[key]?.transfer = transfer
    }

    func member(_ id: MemberID) -> GroupMember? { members[id] }
    func connection(with id: MemberID) -> MemberConnection.Phase? { connections[id]?.phase }
    func waitingDescriptions(by author: Author?) -> Int {
        partial.keys.count { items[$0]?.record.hasFile != true && (author ?? $0.author) == $0.author }
    }

    /// Items visible to the user.
    var shown: [MessageKey: Item] { items.filter { $0.value.record.state != .deleted && !$0.value.isHidden } }

    mutating func perform(_ effects: [ConversationEffect]) {
        for effect in effects { perform(effect) }
    }

    private mutating func perform(_ effect: ConversationEffect) {
        switch effect {
        case .received(let message):
            #expect(items[message.key] == nil, "a message is new once")
            items[message.key] = item(message)
        case .completed(let message):
            #expect(items[message.key]?.record.state == .onlyChanged)
            let content = items[message.key]?.content
            items[message.key] = item(message)
            items[message.key]?.content = content ?? message.message.content
        case .changed(let key, let update, let time, let isNew):
            #expect((items[key] == nil) == isNew)
            let record = MessageRecord(time: time, state: .onlyChanged, hasFile: false)
            items[key, default: Item(record: record, content: update.content)].content = update.content
        case .deleted(let key, let time, _):
            #expect(items[key]?.record.state != .deleted)
            let record = MessageRecord(time: time, state: .deleted, hasFile: false)
            items[key] = Item(record: record, content: ChatContent(.text))
            partial[key] = nil
        case .reacted(let key, let emoji, _, let isAdded):
            if isAdded { items[key]?.reactions.insert(emoji) } else { items[key]?.reactions.remove(emoji) }
        case .descriptionGrew(let key, let description, let part):
            partial[key] = description
            parts[key] = part.number == 1 ? [part.text] : parts[key, default: []] + [part.text]
            #expect(parts[key]?.count == description.count)
        case .described(let key, let text):
            #expect(items[key]?.description == nil, "a file is described once")
            items[key]?.description = text
        case .fileCancelled(let key):
            items[key]?.isCancelled = true
            items[key]?.transfer = nil
        case .transferBegan(let key):
            #expect(items[key]?.transfer == nil && items[key]?.bytes == [])
            begin(key)
        case .transferGrew(let key, let transfer, let bytes):
            #expect(items[key]?.transfer?.received == transfer.received - 1)
            items[key]?.bytes += bytes
            items[key]?.transfer = transfer.isComplete ? nil : transfer
        case .transferFailed(let key, let failure):
            #expect(items[key]?.transfer != nil)
            items[key]?.transfer = nil
            items[key]?.failure = failure
        default: performOfChat(effect)
        }
    }

    private mutating func performOfChat(_ effect: ConversationEffect) {
        switch effect {
        case .fileAccepted(let id): accepted.append(id)
        case .profileChanged(let profile): profiles.append(profile)
        case .groupProfileChanged(let profile): groupProfiles.append(profile)
        case .memberChanged(let member): members[member.id] = member
        case .messagesOfMemberDeleted(let id):
            for key in items.keys where key.author == .member(id) { items[key] = nil }
        case .invitedToGroup(let invitation): invitations.append(invitation)
        case .ended(let end): ends.append(end)
        case .seen(let key): seen.insert(key)
        case .receiptDue: receipts += 1
        case .memberIntroduced(let id, let host):
            #expect(connections[id] == nil, "a connection that is there stays")
            connections[id] = MemberConnection(to: id, introducer: host)
        case .newcomerInvites(let id, let link, let introducer):
            #expect(connections[id] == nil, "a connection that is there stays")
            connections[id] = MemberConnection(to: id, introducer: introducer, phase: .toJoin, link: link)
        case .memberGone(let id): connections[id] = nil
        case .passedOnNeedlessly(let forwarder, let author): needless[forwarder] = author
        default: Issue.record("performed above")
        }
    }

    private func item(_ message: IncomingMessage) -> Item {
        let hasFile = message.message.file != nil && !message.isHidden
        let record = MessageRecord(time: message.time, hasFile: hasFile)
        return Item(
            record: record, content: message.message.content, file: message.message.file,
            isHidden: message.isHidden)
    }
}

/// A conversation with its records.
struct ContactFixture {
    var conversation = ContactConversation(
        profile: ContactProfile(displayName: "Bob"), versions: 1...16)
    var records = MemoryRecords()

    @discardableResult
    mutating func receive(
        _ message: ChatMessage, at time: Timestamp = Sample.time
    ) -> [ConversationEffect] {
        let effects = conversation.receive(.message(message), at: time, from: records)
        records.perform(effects)
        return effects
    }

    @discardableResult
    mutating func receive(
        _ event: MessageEvent, _ id: UInt8, at time: Timestamp = Sample.time
    ) throws -> [ConversationEffect] {
        receive(ChatMessage(event, id: try Sample.id(id)), at: time)
    }
}
