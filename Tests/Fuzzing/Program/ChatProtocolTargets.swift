import Base

@testable import ChatProtocol

extension Target {
    /// Messages of chat programs and their effects.
    static let chatProtocol = [
        Target("chat-body", "messages of people's programs, alone, in batches, compressed", longest: 4096) {
            bytes in
            guard let elements = try? ChatBody.read(bytes, compression: Zstandard.installed) else { return }
            hold(!elements.isEmpty && elements.count <= ProtocolLimits.batch, "a body says something")
            for element in elements {
                switch element {
                case .message(let message):
                    let again = ChatMessage(decoding: Array(message.json.utf8))
                    hold(again != nil, "a written message can be read")
                    hold(again?.json == message.json, "and has one form")
                case .chunk(let chunk): hold(chunk.encoded == bytes, "a chunk has one form")
                case .unreadable: break
                }
            }
        },
        Target("link-profile", "what short links tell of people and groups", longest: 2048) { bytes in
            guard let profile = LinkProfile(decoding: bytes) else { return }
            hold(LinkProfile(decoding: profile.encoded)?.encoded == profile.encoded, "it has one form")
        },
        Target("group-membership", "groups over the connections of several members", longest: 4096) { bytes in
            // After each length, over its connection.
            var input = Input(bytes)
            guard var group = ChatFixture.group else { return }
            var records = ChatFixture.Records()
            while !input.isAtEnd {
                let length = Int(input.byte()) << 4 | Int(input.byte())
                let sender = MemberID(bytes: [input.byte() & 7 | 2]) ?? group.host
                for element in (try? ChatBody.read(input.take(length), compression: nil)) ?? [] {
                    let role = group.own.role
                    let effects = group.receive(
                        element, at: Timestamp(seconds: 1), over: sender, from: records)
                    let mayGive = records.member(sender)?.role.mayForward ?? (sender == group.host)
                    hold(
                        group.own.role <= role || mayGive,
                        "roles rise only by members that may change them")
                    for effect in effects { records.note(effect, of: group.own.id, group.host) }
                }
            }
        },
        Target("chat-conversation", "chats with people and groups, message by message", longest: 4096) {
            bytes in
            // Messages follow each other after their lengths.
            var input = Input(bytes)
            var contact = ContactConversation(profile: ContactProfile(displayName: "a"), versions: nil)
            guard var group = ChatFixture.group else { return }
            var records = ChatFixture.Records()
            while !input.isAtEnd {
                let length = Int(input.byte()) << 4 | Int(input.byte())
                let body = input.take(length)
                for element in (try? ChatBody.read(body, compression: nil)) ?? [] {
                    let time = Timestamp(seconds: 1)
                    for effect in contact.receive(element, at: time, from: records) { records.note(effect) }
                    for effect in group.receive(element, at: time, from: records) {
                        if case .received(let message) = effect {
                            hold(message.key.author != .own, "nobody writes in the name of this profile")
                        }
                        records.note(effect)
                    }
                }
            }
        },
    ]
}

/// A store of the existing messages.
private enum ChatFixture {
    /// A group with its host that this profile has just joined.
    static let group: GroupConversation? = MemberID(bytes: [1]).flatMap { own in
        MemberID(bytes: [2]).map { host in
            GroupConversation(
                own: MemberReference(id: own, role: .member), host: host,
                profile: GroupProfile(displayName: "g"))
        }
    }

    struct Records: ConversationRecords {
        private var messages: [MessageKey: MessageRecord] = [:]
        private var partial: [MessageKey: PartialDescription] = [:]
        private var texts: [MessageKey: String] = [:]
        private var members: [MemberID: GroupMember] = [:]
        private var connections: [MemberID: MemberConnection] = [:]
        private var transfers: [MessageKey: InlineTransfer] = [:]
        /// In the order of their start.
        private var unasked: [MessageKey] = []
        private var sizes: [MessageKey: UInt64] = [:]

        func message(_ key: MessageKey) -> MessageRecord? { messages[key] }
        func isSeen(_ key: MessageKey) -> Bool { false }
        func description(of key: MessageKey) -> PartialDescription? { partial[key] }
        func descriptionText(of key: MessageKey) -> String { texts[key, default: ""] }
        func member(_ id: MemberID) -> GroupMember? { members[id] }
        func connection(with id: MemberID) -> MemberConnection.Phase? { connections[id]?.phase }
        func transfer(of key: MessageKey) -> InlineTransfer? { transfers[key] }
        func unaskedTransfers(by author: Author) -> [MessageKey] { unasked.filter { $0.author == author } }
        func waitingDescriptions(by author: Author?) -> Int {
            partial.keys.count { (author ?? $0.author) == $0.author }
        }

        /// The same with events that create and end connections.
        mutating func note(_ effect: ConversationEffect, of own: MemberID, _ host: MemberID) {
            switch effect {
            case .memberIntroduced(let id, let introducer):
                hold(id != own && connections[id] == nil, "one connection with each other member")
                connections[id] = MemberConnection(to: id, introducer: introducer)
            case .newcomerInvites(let id, let link, let introducer):
                hold(
                    id != own && id != host && connections[id] == nil, "one connection with each other member"
                )
                connections[id] = MemberConnection(
                    to: id, introducer: introducer, phase: .toJoin, link: link)
            case .memberGone(let id): connections[id] = nil
            default: note(effect)
            }
        }

        mutating func note(_ effect: ConversationEffect) {
            switch effect {
            case .received(let message):
                hold(messages[message.key] == nil, "a message is new once")
                messages[message.key] = MessageRecord(
                    time: message.time, hasFile: message.message.file != nil)
                // Offered files are requested.
                if message.message.file?.way == .offeredInline {
                    transfers[message.key] = message.message.file?.transfer
                }
                sizes[message.key] = message.message.file?.size
            case .deleted(let key, let time, _):
                hold(messages[key]?.state != .deleted, "a message is deleted once")
                messages[key] = MessageRecord(time: time, state: .deleted, hasFile: false)
                end(key)
            case .transferBegan(let key):
                transfers[key] = sizes[key].flatMap { InlineTransfer(size: $0) }
                unasked.append(key)
                hold(transfers[key] != nil, "only small files come within messages")
                hold(
                    unaskedTransfers(by: key.author).count <= ProtocolLimits.unfinishedTransfers,
                    "few files of one author come unasked")
            case .transferGrew(let key, let transfer, let bytes):
                hold(transfers[key]?.received == transfer.received - 1, "chunks come in their order")
                hold(
                    (transfers[key]?.bytes ?? 0) + UInt64(bytes.count) == transfer.bytes,
                    "a chunk has the length that it must have")
                transfers[key] = transfer
                if transfer.isComplete { end(key) }
            case .transferFailed(let key, _):
                hold(transfers[key] != nil, "a file fails once")
                end(key)
            case .fileCancelled(let key): end(key)
            case .descriptionGrew(let key, let description, let part):
                partial[key] = description
                texts[key] = part.number == 1 ? part.text : texts[key, default: ""] + part.text
                hold(
                    texts[key]?.utf8.count == description.length, "a description has the length of its parts")
            case .memberChanged(let member): members[member.id] = member
            default: break
            }
        }

        private mutating func end(_ key: MessageKey) {
            transfers[key] = nil
            unasked.removeAll { $0 == key }
        }
    }
}
