import Base
import ChatCore
import Store
import TestSupport
import Testing

@testable import OfficialCore

/// The index alone: items are read as they were written, and an unknown value is damage.
@Suite struct IndexTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func database() throws -> Database {
        try Database(path: folder.path("index.sqlite"), migrations: Schema.migrations)
    }

    private static let problem = FileProblem(.blocked, "It is blocked.")

    private static let statuses: [FileStatus] = [
        .sndStored, .sndTransfer(sent: 3, total: 9), .sndComplete, .sndCancelled, .sndError(problem),
        .sndWarning(problem), .rcvInvitation(described: true), .rcvInvitation(described: false), .rcvAccepted,
        .rcvTransfer(received: 1, total: .max), .rcvAborted(problem), .rcvComplete, .rcvCancelled,
        .rcvError(problem), .rcvWarning(problem),
    ]

    private static func item(_ id: Int64, _ status: FileStatus, in chat: ChatReference) -> ChatItem {
        let kinds: [MessageContent.Kind] = [
            .file, .text, .image(preview: ""), .video(preview: "", seconds: 7), .voice(seconds: 3),
        ]
        return ChatItem(
            id: ItemID(id), chat: chat, direction: id % 2 == 0 ? .sent : .received, sender: "bob \u{1F600}",
            time: Timestamp(seconds: id),
            content: MessageContent(kind: kinds[Int(id) % kinds.count], text: "caption '\(id)'"),
            file: ChatFile(
                id: FileID(id * 10), name: "\(id).jpg", size: UInt64(id) << 33, status: status,
                transport: id % 3 == 0 ? .local : .xftp,
                source: id % 4 == 0 ? FileSourceLocation(path: "/f/\(id)", arguments: nil) : nil,
                expires: id % 3 == 0 ? nil : Timestamp(seconds: id + 48 * 3600)),
            hasPreview: id % 4 < 2)
    }

    @Test func itemsAreReadAsWritten() throws {
        let database = try database()
        let items = Self.statuses.enumerated().map { number, status in
            var item = Self.item(Int64(number + 1), status, in: .group(4))
            item.isForModerators = true
            return item
        }
        try database.transaction { connection in
            let tables = IndexTables(connection)
            for item in items.shuffled() {
                try tables.items.put(item, try #require(item.file), reference: "#4(_support:9)")
            }
            #expect(try tables.items.items(of: .group(4), before: nil, count: 99) == items.reversed())
            #expect(
                try tables.items.items(of: .group(4), before: ItemID(5), count: 2)
                    == [items[3], items[2]])
            #expect(try tables.items.items(of: .direct(4), before: nil, count: 99).isEmpty)
            #expect(try tables.items.ids(of: .group(4)).count == items.count)
            for item in items {
                #expect(try tables.items.item(item.id) == item)
                #expect(try tables.items.item(of: try #require(item.file).id) == item)
                #expect(try tables.items.reference(of: item.id) == "#4(_support:9)")
            }
        }
        let words = Set(Self.statuses.map { StoredFileStatus($0).word })
        #expect(words.count == StoredFileStatus.Word.allCases.count, "a status has no test")
    }

    @Test func fileOfPhoneStaysElsewhereWhenWrittenAgain() throws {
        let database = try database()
        var item = Self.item(1, .rcvComplete, in: .direct(1))
        item.file?.source = ItemTable.Place.elsewhere
        try database.transaction { connection in
            let items = IndexTables(connection).items
            try items.put(item, try #require(item.file), reference: "@1")
            let read = try #require(try items.item(item.id))
            #expect(read.file?.isElsewhere == true && read.file?.source == nil)
            try items.put(read, try #require(read.file), reference: "@1")
            #expect(try items.item(item.id) == read)
        }
    }

    /// A status without a key keeps the place of a file with a key. The index does not store keys.
    @Test func indexStoresPlaceWithoutKey() throws {
        let database = try database()
        var item = Self.item(1, .rcvComplete, in: .direct(1))
        let arguments = FileArguments(key: [1], nonce: [2])
        item.file?.source = FileSourceLocation(path: "/f/1", arguments: arguments)
        try database.transaction { connection in
            let items = IndexTables(connection).items
            try items.put(item, try #require(item.file), reference: "@1")
            #expect(try items.item(ItemID(1))?.file?.source == nil)
            let place = try #require(try items.place(of: ItemID(1)))
            #expect(place.path == "/f/1")
            #expect(place.isSealed)
        }
    }

    @Test func describedAndReadRemainSet() throws {
        let database = try database()
        try database.transaction { connection in
            let items = IndexTables(connection).items
            for (described, read) in [(false, false), (true, true), (false, false)] {
                let item = Self.item(1, .rcvInvitation(described: described), in: .direct(1))
                try items.put(item, try #require(item.file), reference: "@1", isRead: read)
            }
            #expect(try items.item(ItemID(1))?.file?.status == .rcvInvitation(described: true))
            #expect(try items.unreadReference(of: ItemID(1)) == nil)
        }
    }

    @Test(arguments: [
        "UPDATE item SET status = 'rcvLost'", "UPDATE item SET transport = 'pigeon'",
        "UPDATE item SET kind = 'sticker'", "UPDATE item SET direction = 'sideways'",
        "UPDATE item SET problem = 'sunspots'", "UPDATE item SET status = 'SNDSTORED'",
    ])
    func unknownWordIsDamage(statement: String) throws {
        let database = try database()
        try database.transaction { connection in
            let item = Self.item(1, .rcvError(Self.problem), in: .direct(1))
            try IndexTables(connection).items.put(item, try #require(item.file), reference: "@1")
            try connection.execute(statement)
        }
        let error = #expect(throws: StoreError.self) {
            try database.read {
                _ = try IndexTables($0).items.items(of: .direct(1), before: nil, count: 9)
            }
        }
        #expect(error?.code == .damaged)
        #expect(error?.sentence.contains("backup") == true)
    }

    @Test func developmentIndexOpens() throws {
        try DevelopmentDatabase.make(
            "official-index", at: folder.path("index.sqlite"),
            rows: """
                INSERT INTO chat (chat, name, updated, refused, gone, listed) VALUES ('@1', 'bob', 5, NULL, 0, 1);
                INSERT INTO walk (reference, chat, number, start, frontier, done, again)
                    VALUES ('@1', '@1', 3, 9, 4, 0, 0);
                INSERT INTO item (id, chat, reference, seen, direction, sender, time, kind, seconds, text, file,
                    name, size, transport, status, part, total, problem, sentence, described, path, sealed)
                    VALUES (2, '@1', '@1', 3, 'received', 'bob', 5, 'video', 7, 'caption', 20, 'a.mp4', 99, 'xftp',
                    'rcvTransfer', 1, 2, NULL, NULL, 1, NULL, 0);
                INSERT INTO send (message, chat, folder, run, item, size)
                    VALUES ('m', '@1', 'message-1', 'attached', NULL, 7);
                """)
        let new = try Database(path: folder.path("new.sqlite"), migrations: Schema.migrations)
        #expect(try DevelopmentDatabase.schema(of: database()) == DevelopmentDatabase.schema(of: new))
        try database().read { connection in
            let tables = IndexTables(connection)
            #expect(try tables.chats.shown().map(\.displayName) == ["bob"])
            let item = try #require(try tables.items.item(ItemID(2)))
            #expect(item.content == MessageContent(kind: .video(preview: "", seconds: 7), text: "caption"))
            #expect(item.file?.status == .rcvTransfer(received: 1, total: 2))
            #expect(try !tables.items.disappears(ItemID(2)))
            #expect(try tables.items.unreadReference(of: ItemID(2)) == "@1")
            #expect(try tables.items.moving(limit: 9).map(\.id) == [ItemID(2)])
            #expect(try tables.keptCopies.source(of: FileID(20)) == nil)
            let walk = try #require(try tables.walks.unfinished().first)
            #expect((walk.number, walk.start, walk.frontier) == (3, 9, ItemID(4)))
            let send = try #require(try tables.sends.send(of: "m"))
            #expect((send.folder, send.item, send.newest) == ("message-1", nil, ItemID(0)))
        }
    }

    // MARK: - Walks and sends

    @Test func onlyDoubtedWalkRestarts() throws {
        let database = try database()
        try database.transaction { connection in
            let tables = IndexTables(connection)
            try tables.chats.put(
                Chat(reference: .direct(1), displayName: "bob", updatedAt: Timestamp(seconds: 1)),
                isGone: false)
            let reference = APIChatReference(.direct(1))
            #expect(try tables.walks.add(reference))
            #expect(try !tables.walks.add(reference), "there is one")
            func walk() throws -> Walk? { try tables.walks.unfinished().first }
            try tables.walks.doubtUnfinished()
            try tables.walks.advance(try #require(try walk()), to: ItemID(50), start: 99)
            #expect(try walk()?.frontier == ItemID(50))
            // The walk had not begun, so nothing is doubted.
            try tables.walks.end(try #require(try walk()))
            #expect(try walk() == nil)
            try tables.walks.repeatWalks(of: "@1")
            let second = try #require(try walk())
            #expect((second.number, second.start, second.frontier) == (2, 0, nil))
            try tables.walks.advance(second, to: ItemID(7), start: 99)
            try tables.walks.doubtUnfinished()
            try tables.walks.end(second)
            let third = try #require(try walk(), "doubted: once more")
            #expect((third.number, third.start, third.frontier) == (3, 0, nil))
            // A page of an earlier walk has no effect.
            try tables.walks.advance(second, to: ItemID(1), start: 99)
            try tables.walks.end(second)
            #expect(try walk()?.frontier == nil)
            try tables.walks.restart(third)
            #expect(try walk()?.number == 4)
        }
    }

    @Test func repeatedSendKeepsFolderAndNewestItem() throws {
        let database = try database()
        var message = ComposedMessage(
            id: "m", fileName: "a.txt", size: 7, source: FileSourceLocation(path: "/s", arguments: nil),
            content: MessageContent(kind: .file))
        try database.transaction { connection in
            let tables = IndexTables(connection)
            try tables.sends.begin(message.id, size: message.size, in: .direct(1), folder: "one", run: "a")
            let item = Self.item(30, .sndComplete, in: .direct(1))
            try tables.items.put(item, try #require(item.file), reference: "@1")
            try tables.sends.begin(message.id, size: message.size, in: .direct(1), folder: "one", run: "b")
            let send = try #require(try tables.sends.send(of: "m"))
            #expect((send.run, send.newest, send.item) == ("b", ItemID(0), nil))
            try tables.sends.end("m", as: ItemID(30))
            try tables.sends.forget("m")
            #expect(try tables.sends.send(of: "m")?.item == ItemID(30), "the core has it")
            #expect(try tables.sends.remove(of: ItemID(30)) == ["one"])
            #expect(try tables.sends.send(of: "m") == nil)
            message.id = "n"
            try tables.sends.begin(message.id, size: message.size, in: .direct(1), folder: "two", run: "a")
            #expect(try tables.sends.send(of: "n")?.newest == ItemID(30))
            try tables.sends.forget("n")
            #expect(try tables.sends.send(of: "n") == nil)
        }
    }
}
