import Base
import ChatCore
import Network
import Store
import TestSupport
import Testing
import XFTP

@testable import EmbeddedCore

/// Random histories compared with a model, with reopened databases and failing transactions.
@Suite struct StoreModelTests {
    @Test(arguments: UInt64(1)...12)
    func storeMatchesModel(seed: UInt64) throws {
        let folder = try TemporaryFolder()
        var history = try StoreHistory(seed: seed, path: folder.path("chats.db"))
        for step in 1...400 {
            try history.step()
            if step % 8 == 0 { try history.compare() }
            if step % 50 == 0 { try history.reopen() }
        }
        try history.compare()
        // Check that the history was not empty.
        #expect(history.model.profiles.count >= 3)
        #expect(history.model.items.count + history.deletedItems > 40)
        #expect(history.failedTransactions > 5)
    }
}

/// One random history.
struct StoreHistory {
    private struct Failure: Error {}

    private let path: String
    private var store: DirectoryStore
    private var random: SeededGenerator
    private var time = Timestamp(seconds: 1_800_000_000)
    private var nextName = 0
    private(set) var model = StoreModel()
    private(set) var deletedItems = 0
    private(set) var failedTransactions = 0
    private let context = ItemTable.FileContext(filesPath: "/files", progress: [:])

    init(seed: UInt64, path: String) throws {
        self.path = path
        store = try DirectoryStore(path: path)
        random = SeededGenerator(state: seed)
        for _ in 0..<3 { try addProfile() }
    }

    mutating func reopen() throws { store = try DirectoryStore(path: path) }

    // MARK: - Steps

    mutating func step() throws {
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<1: try addProfile()
        case 1..<10: try connect()
        case 10..<15: try addGroup()
        case 15..<45: try send()
        case 45..<65: try changeFile()
        case 65..<72: try deleteItem()
        case 72..<76: try leave()
        case 76..<80: try renameSomething()
        case 80..<88: try readInbox()
        case 88..<93: try changeRelays()
        case 93..<98: try changeDeletions()
        default: try removeEmptyChat()
        }
    }

    private mutating func freshName() -> String {
        nextName += 1
        return "n\(nextName) ü\u{1F600}'\"%"
    }

    private mutating func now() -> Timestamp {
        time = time.advanced(by: .milliseconds(Int.random(in: 1...5000, using: &random)))
        return time
    }

    private mutating func pick<Element>(_ elements: [Element]) -> Element? {
        elements.randomElement(using: &random)
    }

    /// Changes store and model. Sometimes the transaction fails at its end and must leave no trace.
    private mutating func change(
        _ body: (inout StoreModel, DirectoryTables) throws -> Void
    ) throws {
        let fails = Int.random(in: 0..<12, using: &random) == 0
        var changed = model
        do {
            try store.change { tables in
                try body(&changed, tables)
                if fails { throw Failure() }
            }
            model = changed
        } catch is Failure {
            failedTransactions += 1
        }
    }

    private mutating func addProfile() throws {
        let (name, now) = (freshName(), now())
        try change { model, tables in
            let profile = try tables.profiles.insert(name, at: now)
            model.profiles.append(profile)
            let notes = try #require(try tables.chats.all(of: profile.id).first)
            let id = StoredChatKind.columns(of: notes.reference).id
            model.chats.append(
                .init(id: id, profile: profile.id, kind: .notes, updated: now))
        }
    }

    private mutating func connect() throws {
        guard let one = pick(model.profiles)?.id, let other = pick(model.profiles)?.id, one != other else {
            return
        }
        let now = now()
        try change { model, tables in
            for (own, contact) in [(one, other), (other, one)] {
                let side = try #require(try tables.chats.connect(own, to: contact, at: now))
                if model.chats.contains(where: { $0.id == side.chat }) {
                    model.changeChat(side.chat) { $0.ending = nil }
                } else {
                    model.chats.append(
                        .init(id: side.chat, profile: own, kind: .direct, contact: contact, updated: now))
                }
                #expect(try tables.chats.isConnected(own, to: contact))
            }
        }
    }

    private mutating func addGroup() throws {
        let members = model.profiles.shuffled(using: &random).prefix(3)
        let (name, now) = (freshName(), now())
        try change { model, tables in
            let group = try tables.chats.insertGroup(name, at: now)
            model.groups[group] = name
            for member in members {
                let side = try tables.chats.addMember(member.id, as: .member, to: group, at: now)
                model.chats.append(
                    .init(id: side.chat, profile: member.id, kind: .group, group: group, updated: now))
            }
        }
    }

    private mutating func send() throws {
        guard let chat = pick(model.chats.filter { $0.ending == nil }) else { return }
        let recipients = model.recipients(of: chat.id)
        guard !recipients.isEmpty || chat.kind == .notes else { return }
        let message = randomMessage()
        let transport: ChatFile.Transport =
            chat.kind == .notes ? .local : message.size % 2 == 0 ? .inline : .xftp
        let now = now()
        let envelope = ItemTable.Envelope(
            message: message, transport: transport, created: now,
            expires: transport == .xftp ? now.advanced(by: .seconds(60)) : nil, recipients: recipients.count)
        let (storedName, context) = (freshName(), context)
        try change { model, tables in
            let own = tables.tables(of: chat.profile, context)
            let sender = try #require(model.name(of: chat.profile))
            let origin = try own.items.insertSent(envelope, in: chat.id, storedName: storedName)
            try tables.chats.noteMessage(in: chat.id, at: now)
            let sides =
                [(ChatSide(profile: chat.profile, chat: chat.id), origin, nil as Int?)]
                + (try recipients.enumerated().map { number, side in
                    let item = try own.items.insertReceived(
                        envelope, by: side, origin: origin, number: number,
                        inlineContent: transport == .inline ? "AAAA" : nil)
                    try tables.chats.noteMessage(in: side.chat, at: now)
                    return (side, item, number)
                })
            for (side, item, number) in sides {
                model.changeChat(side.chat) { $0.updated = now }
                let found = try #require(
                    try tables.tables(of: side.profile, context).items.item(item)?.file?.id)
                let isSent = number == nil
                model.items.append(
                    .init(
                        id: item, file: found, profile: side.profile, chat: side.chat,
                        origin: isSent ? nil : origin, message: isSent ? message.id : nil,
                        direction: isSent ? .sent : .received, sender: sender,
                        time: isSent ? message.modified ?? now : now, created: now, content: message.content,
                        name: message.fileName, size: message.size, transport: transport,
                        status: isSent ? transport == .inline ? .sndComplete : .sndStored : .rcvInvitation,
                        storedName: isSent ? storedName : nil,
                        arguments: isSent ? message.source.arguments : nil, expires: envelope.expires,
                        inlineContent: !isSent && transport == .inline ? "AAAA" : nil, recipient: number))
            }
        }
    }

    private mutating func randomMessage() -> ComposedMessage {
        let kinds: [MessageContent.Kind] = [
            .file, .text, .image(preview: "data:ü"), .video(preview: "", seconds: 7), .voice(seconds: 3),
        ]
        let arguments = FileArguments(
            key: (0..<32).map { _ in UInt8.random(in: 0...255, using: &random) },
            nonce: (0..<24).map { _ in UInt8.random(in: 0...255, using: &random) })
        return ComposedMessage(
            id: freshName(), fileName: freshName(), size: UInt64.random(in: 0...5000, using: &random),
            source: FileSourceLocation(path: "/staged", arguments: arguments),
            content: MessageContent(kind: pick(kinds) ?? .file, text: freshName()),
            modified: Bool.random(using: &random) ? Timestamp(nanoseconds: 123_456_789) : nil)
    }

    // MARK: - Files

    private mutating func changeFile() throws {
        guard let item = pick(model.items) else { return }
        let (file, context) = (item.file, context)
        switch Int.random(in: 0..<8, using: &random) {
        case 0, 1:
            let status =
                pick(StoredFileStatus.allCases.filter { $0.isSent == item.status.isSent }) ?? item.status
            let expected = Array(StoredFileStatus.allCases.shuffled(using: &random).prefix(8))
            let problem = Bool.random(using: &random) ? FileProblem(.unreachable, freshName()) : nil
            try change { model, tables in
                let isChanged = try tables.tables(of: item.profile, context).files.setStatus(
                    status, of: file, from: expected, problem: problem)
                #expect(isChanged == expected.contains(item.status))
                if isChanged { model.changeItem(file) { ($0.status, $0.problem) = (status, problem) } }
                // Files of other profiles stay unchanged.
                let other = model.profiles.first { $0.id != item.profile }
                if let other {
                    #expect(
                        try !tables.tables(of: other.id, context).files.setStatus(
                            .sndError, of: file, from: StoredFileStatus.allCases))
                }
            }
        case 2:
            let (name, arguments) = (freshName(), FileArguments(key: [1], nonce: [2]))
            try change { model, tables in
                try tables.tables(of: item.profile, context).files.setSource(of: file, name, arguments)
                model.changeItem(file) { ($0.storedName, $0.arguments) = (name, arguments) }
            }
        case 3 where item.inlineContent != nil:
            let (name, arguments) = (freshName(), FileArguments(key: [3], nonce: [4]))
            try change { model, tables in
                let contents = tables.tables(of: item.profile, context).inlineContents
                let isReplaced = [
                    try contents.replace(file, by: name, arguments),
                    try contents.replace(file, by: name, arguments),
                ]
                #expect(isReplaced == [true, false], "once")
                model.changeItem(file) { item in
                    (item.status, item.problem, item.inlineContent) = (.rcvComplete, nil, nil)
                    (item.storedName, item.arguments) = (name, arguments)
                }
            }
        case 4 where item.direction == .received:
            let text = freshName()
            try change { model, tables in
                try tables.tables(of: item.profile, context).uploads.describe(file, text)
                model.changeItem(file) { $0.description = text }
            }
        case 5 where item.direction == .received:
            let isApproved = Bool.random(using: &random)
            try change { model, tables in
                try tables.tables(of: item.profile, context).downloads.request(
                    file, .rcvAccepted, isApproved: isApproved)
                model.changeItem(file) { item in
                    (item.status, item.isRequested, item.isApproved) = (.rcvAccepted, true, isApproved)
                }
            }
        case 6 where item.direction == .received:
            try change { model, tables in
                let downloads = tables.tables(of: item.profile, context).downloads
                let name = try downloads.replaceableCopy(of: file)
                let canBe = item.status == .rcvComplete && item.description != nil
                #expect(name == (canBe ? item.storedName : nil))
                guard name != nil else { return }
                try downloads.offerAgain(file)
                model.changeItem(file) { item in
                    (item.status, item.problem) = (.rcvInvitation, nil)
                    (item.storedName, item.arguments) = (nil, nil)
                }
            }
        case 7 where item.direction == .received:
            try change { model, tables in
                let isWithdrawn = try tables.tables(of: item.profile, context).uploads.withdraw(file)
                let isHere = item.inlineContent != nil || item.status == .rcvComplete
                #expect(isWithdrawn == (!isHere && item.status != .rcvError))
                if isWithdrawn {
                    model.changeItem(file) { ($0.status, $0.description) = (.rcvCancelled, nil) }
                }
            }
        default: return
        }
    }

    // MARK: - Removal

    private mutating func deleteItem() throws {
        guard let item = pick(model.items) else { return }
        let context = context
        let before = model.items.count
        try change { model, tables in
            let items = tables.tables(of: item.profile, context).items
            let found = try #require(try items.deletable(item.id, in: item.chat))
            #expect(found.file == item.file)
            #expect(found.status == item.status)
            #expect(found.storedName == item.storedName)
            #expect(found.direction == item.direction)
            #expect(found.created == item.created)
            #expect(try items.deletable(item.id, in: item.chat + 1_000_000) == nil)
            try items.delete(item.id)
            model.items.removeAll { $0.id == item.id }
        }
        deletedItems += before - model.items.count
    }

    private mutating func leave() throws {
        guard let chat = pick(model.chats.filter { $0.kind != .notes }) else { return }
        try change { model, tables in
            let sides = try tables.chats.leave(chat.id)
            #expect(Set(sides) == model.leave(chat.id))
            #expect(try !tables.chats.isOpen(chat.id))
        }
    }

    private mutating func removeEmptyChat() throws {
        let empty = model.chats.filter { chat in
            chat.kind != .notes && !model.items.contains { $0.chat == chat.id }
        }
        guard let chat = pick(empty) else { return }
        try change { model, tables in
            _ = try tables.chats.leave(chat.id)
            _ = model.leave(chat.id)
            try tables.chats.remove(chat.id)
            model.chats.removeAll { $0.id == chat.id }
        }
    }

    private mutating func renameSomething() throws {
        let name = freshName()
        if Bool.random(using: &random), let profile = pick(model.profiles) {
            try change { model, tables in
                try tables.profiles.rename(profile.id, to: name)
                let index = model.profiles.firstIndex { $0.id == profile.id }
                model.profiles[try #require(index)].displayName = name
            }
        } else if let chat = pick(model.chats.filter({ $0.kind != .notes })) {
            try change { model, tables in
                try tables.chats.setAlias(name, of: chat.id)
                model.changeChat(chat.id) { $0.alias = name }
            }
        }
    }

    // MARK: - Inbox, relays, chunks

    private mutating func readInbox() throws {
        guard let chat = pick(model.chats) else { return }
        let side = ChatSide(profile: chat.profile, chat: chat.id)
        let item = pick(model.items)?.id ?? ItemID(1)
        let entries: [InboxEntry] = [
            .newItem(item), .described(item), .cancelled(item), .deleted(item, storedName: "x"),
            .deleted(item, storedName: nil), .chatUpdated,
        ]
        let entry = pick(entries) ?? .chatUpdated
        let count = Int.random(in: 0..<3, using: &random)
        try change { model, tables in
            try tables.inbox.post(entry, to: side)
            let all = try tables.inbox.waiting(for: side.profile, limit: .max)
            let posted = try #require(all.last)
            model.inbox.append(.init(id: posted.id, side: side, entry: entry))
            for waiting in try tables.inbox.waiting(for: side.profile, limit: count) {
                try tables.inbox.remove(waiting.id)
                model.inbox.removeAll { $0.id == waiting.id }
            }
        }
    }

    private mutating func changeRelays() throws {
        guard let profile = pick(Array(model.profiles.prefix(1)))?.id else { return }
        let address = "relay\(Int.random(in: 0..<4, using: &random))"
        let password = Bool.random(using: &random) ? freshName() : nil
        let endpoint = ServerPlace(
            fingerprint: Array(repeating: UInt8.random(in: 0..<3, using: &random), count: 32), host: "a.Org",
            port: .random(in: 1...3, using: &random))
        let policy = pick(RelayApprovalPolicy.allCases) ?? .ask
        let choice = Int.random(in: 0..<5, using: &random)
        try change { model, tables in
            switch choice {
            case 0:
                try tables.relays.add([.init(address: address, password: password)], to: profile)
                var relays = model.relays[profile, default: []]
                if let index = relays.firstIndex(where: { $0.address == address }) {
                    relays[index].password = password ?? relays[index].password
                } else {
                    relays.append(.init(address: address, password: password))
                }
                model.relays[profile] = relays
            case 1:
                let wasThere = model.relays[profile, default: []].contains { $0.address == address }
                #expect(try tables.relays.remove(address, from: profile) == wasThere)
                model.relays[profile]?.removeAll { $0.address == address }
            case 2:
                try tables.relays.approve(endpoint, for: profile)
                model.approvals[profile, default: []].insert(endpoint)
            case 3:
                let wasThere = model.approvals[profile]?.remove(endpoint) != nil
                #expect(try tables.relays.revoke(endpoint, of: profile) == wasThere)
            default:
                try tables.relays.setPolicy(policy, of: profile)
                model.policies[profile] = policy
            }
        }
    }

    private mutating func changeDeletions() throws {
        guard let item = pick(model.items) else { return }
        let (now, context) = (now(), context)
        let uploaded = UploadedChunks(
            senderDescription: Bool.random(using: &random) ? freshName() : nil,
            state: Bool.random(using: &random) ? [1, 2] : nil,
            linkDescription: Bool.random(using: &random) ? freshName() : nil)
        let removes = Int.random(in: 0..<3, using: &random) == 0
        try change { model, tables in
            let deletions = tables.tables(of: item.profile, context).chunkDeletions
            if removes {
                try deletions.remove(item.file)
                model.deletions[item.file] = nil
                return
            }
            try deletions.add(uploaded, of: item.file, at: now)
            var known =
                model.deletions[item.file]?.deletion
                ?? .init(
                    uploaded: UploadedChunks(senderDescription: nil, state: nil, linkDescription: nil),
                    created: now)
            known.uploaded.senderDescription = uploaded.senderDescription ?? known.uploaded.senderDescription
            known.uploaded.state = uploaded.state ?? known.uploaded.state
            known.uploaded.linkDescription = uploaded.linkDescription ?? known.uploaded.linkDescription
            model.deletions[item.file] = (item.profile, known)
        }
    }

    // MARK: - Comparison

    func compare() throws {
        try store.read { tables in
            #expect(try tables.profiles.all() == model.profiles)
            for profile in model.profiles {
                #expect(try tables.profiles.profile(named: profile.displayName) == profile)
                try compare(profile.id, tables)
            }
        }
    }

    private func compare(_ profile: Int64, _ tables: DirectoryTables) throws {
        let own = tables.tables(of: profile, context)
        let chats = model.chats.filter { $0.profile == profile }
        #expect(try tables.chats.all(of: profile) == chats.sorted { $0.id < $1.id }.map(model.chat))
        for chat in chats {
            let reference = chat.kind.reference(chat.id)
            #expect(try tables.chats.id(of: reference, of: profile) == chat.id)
            #expect(try tables.chats.recipients(of: chat.id) == model.recipients(of: chat.id))
            let expected = model.items.filter { $0.chat == chat.id }.sorted { $0.id > $1.id }
            #expect(try own.items.ids(in: chat.id).sorted(by: >) == expected.map(\.id))
            let items = try own.items.items(in: chat.id, before: nil, count: .max)
            #expect(items == expected.compactMap(model.item))
            if expected.count > 2 {
                let page = try own.items.items(in: chat.id, before: expected[0].id, count: 1)
                #expect(page == Array(items[1...1]))
            }
        }
        let files = model.items.filter { $0.profile == profile }
        for name in files.compactMap(\.storedName) { #expect(try own.files.hasStored(name)) }
        #expect(try !own.files.hasStored("nobody's"))
        #expect(
            try own.inlineContents.files() == files.filter { $0.inlineContent != nil }.map(\.file).sorted())
        #expect(
            try own.downloads.downloading()
                == Set(files.filter { StoredFileStatus.downloading.contains($0.status) }.map(\.file)))
        for file in files { try compare(file, own) }
        let unfinished = files.filter { file in
            file.transport == .xftp
                && (StoredFileStatus.uploading.contains(file.status)
                    || StoredFileStatus.downloading.contains(file.status) && file.description != nil)
        }
        #expect(try own.files.unfinished().map(\.file) == unfinished.map(\.file).sorted())
        let waiting = try tables.inbox.waiting(for: profile, limit: .max)
        let posted = model.inbox.filter { $0.side.profile == profile }
        #expect(waiting.map(\.id) == posted.map(\.id))
        #expect(waiting.map(\.entry) == posted.map(\.entry))
        #expect(waiting.map(\.chat) == posted.map(\.side.chat))
        #expect(try tables.relays.configured(of: profile) == model.relays[profile, default: []])
        let rules = try tables.relays.rules(of: profile)
        #expect(rules.approved == model.approvals[profile, default: []])
        #expect(rules.policy == model.policies[profile, default: .ask])
        let deletions = model.deletions.filter { $0.value.profile == profile }
        #expect(Set(try own.chunkDeletions.files()) == Set(deletions.keys))
        for (file, expected) in deletions {
            let found = try own.chunkDeletions.deletion(of: file)
            #expect(found?.created == expected.deletion.created)
            #expect(found?.uploaded.senderDescription == expected.deletion.uploaded.senderDescription)
            #expect(found?.uploaded.state == expected.deletion.uploaded.state)
            #expect(found?.uploaded.linkDescription == expected.deletion.uploaded.linkDescription)
        }
    }

    private func compare(_ file: StoreModel.ModelItem, _ own: ProfileTables) throws {
        #expect(try own.items.item(file.id) == model.item(file))
        #expect(try own.items.item(of: file.file) == model.item(file))
        #expect(try own.files.status(of: file.file) == file.status)
        #expect(try own.inlineContents.holds(file.file) == (file.inlineContent != nil))
        if let message = file.message {
            #expect(try own.items.item(sentAs: message)?.id == file.id)
            let copies = try own.items.copies(of: file.file)
            let expected = model.items.filter { $0.origin == file.id }
            #expect(Set(copies.map(\.item)) == Set(expected.map(\.id)))
            #expect(Set(copies.map(\.number)) == Set(expected.compactMap(\.recipient)))
        } else {
            let offer = try #require(try own.downloads.offer(file.file))
            #expect(offer.status == file.status)
            #expect(offer.isDescribed == (file.description != nil))
            #expect((offer.wish == .requested) == file.isRequested)
            #expect(offer.isApproved == file.isApproved)
            #expect(try own.downloads.description(of: file.file)?.text == file.description)
        }
    }
}
