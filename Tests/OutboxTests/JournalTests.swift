import Base
import ChatCore
import Posix
import Store
import TestSupport
import Testing

@testable import Outbox

/// Rows in every state, read by this process and the next.
@Suite struct JournalTests {
    /// Those of every phase, and staged files of another kind.
    private func states(_ staged: StagedFile) -> [StoredState] {
        PhaseName.allCases.compactMap { MachineFixture.sample($0).phase.stored } + [
            .queued(staged, isConfirmed: false), .queued(staged, isConfirmed: true), .failed(staged),
            .unsure(staged),
        ]
    }

    private static let kinds: [MessageContent.Kind] = [
        .file, .image(preview: ""), .video(preview: "", seconds: 12), .voice(seconds: 7),
    ]

    @Test(arguments: kinds)
    func rowSurvivesWriting(kind: MessageContent.Kind) throws {
        let folder = try TemporaryFolder()
        let path = folder.path("journal.sqlite")
        let journal = try Journal(path: path, random: SystemRandomSource())
        let staged = StagedFile(
            folder: "f", fileName: "a b", arguments: FileArguments(key: [1, 2], nonce: [3]), kind: kind)
        var written: [Journal.Entry] = []
        for (number, state) in states(staged).enumerated() {
            var record = DraftRecord(
                chat: .group(3), name: [0x61, UInt8(number)], spool: "spool \(number)", key: [9, 8],
                message: "mark \(number)", modified: Timestamp(seconds: -5), touched: 4)
            record.id = try journal.insert(record)
            record.size = UInt64(number) << 33
            record.caption = "a \"caption\""
            record.gap = DraftRecord.Gap(rawValue: Int64(number % 3))
            record.isWanted = number % 4 == 1
            if number % 4 > 1 { record.hold = number % 4 == 2 ? .status("a b", 18) : .besideStateFile }
            record.isDurable = number % 2 == 0
            record.boot = "boot"
            record.sequence = 100 - Int64(number)
            record.problem = number % 2 == 0 ? nil : "Because."
            written.append(Journal.Entry(record, state))
        }
        try journal.apply(written)
        #expect(try journal.entries() == written)
        #expect(try journal.lastSequence() == 100)
        try journal.save(uptime: 5000)
        journal.close()
        let next = try Journal(path: path, random: SystemRandomSource())
        #expect(try next.entries() == written)
        #expect(try next.uptime() == 5000)
        #expect(next.mark == journal.mark)
    }

    @Test(arguments: [nil, 0, 14] as [UInt64?])
    func placeOfContentSurvivesWriting(offset: UInt64?) throws {
        let folder = try TemporaryFolder()
        let path = folder.path("journal.sqlite")
        let journal = try Journal(path: path, random: SystemRandomSource())
        let content = offset.map { $0..<$0 + 9_000_000_000 }
        var record = DraftRecord(
            chat: .group(3), name: [0x61], spool: "spool", key: [9, 8], message: "mark",
            modified: Timestamp(seconds: 5), touched: 4)
        record.id = try journal.insert(record)
        record.size = 9_000_000_000
        let staged = StagedFile(
            folder: "f", fileName: "a", arguments: FileArguments(key: [1, 2], nonce: [3], content: content),
            kind: .file)
        let entry = Journal.Entry(record, .queued(staged, isConfirmed: false))
        try journal.apply([entry])
        journal.close()
        #expect(try Journal(path: path, random: SystemRandomSource()).entries() == [entry])
    }

    @Test func changesAreAtomic() throws {
        let folder = try TemporaryFolder()
        let journal = try Journal(path: folder.path("journal.sqlite"), random: SystemRandomSource())
        var record = MachineFixture.record()
        record.id = try journal.insert(record)
        var other = record
        (other.spool, other.message) = ("other", "other mark")
        other.id = try journal.insert(other)
        try journal.apply([Journal.Entry(record, .closed)], removing: [other.id], durably: true)
        #expect(try journal.entries() == [Journal.Entry(record, .closed)])
        // Ids are never reused.
        other.message = "third"
        #expect(try journal.insert(other) > other.id)
    }

    /// As `chatfs export` reads while a sent message is deleted.
    @Test func synchronisingWaitsForNoReader() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("journal.sqlite")
        let journal = try Journal(path: path, random: SystemRandomSource())
        let reader = try Database(path: path, migrations: Journal.migrations, durability: .eventual)
        try reader.read { connection in
            #expect(try !connection.exists("SELECT 1 FROM draft"))
            try onOtherThread { _ = try journal.insert(MachineFixture.record()) }
            let before = try folder.read("journal.sqlite-wal").count
            // A checkpoint waits for readers and then gives up silently. A durable commit adds to the log.
            try onOtherThread { try journal.synchronise() }
            #expect(try folder.read("journal.sqlite-wal").count > before)
        }
    }

    @Test func developmentJournalOpens() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("journal.sqlite")
        try DevelopmentDatabase.make(
            "journal", at: path,
            rows: """
                INSERT INTO outbox (mark, seen) VALUES ('out123', 7);
                INSERT INTO draft (chat, name, spool, key, message, state, size, modified, caption, broken, durable,
                    boot, touched) VALUES ('@7', x'61', 's', x'03', 'm', 'closed', 5, 1, '', 0, 1, 'b', 100);
                """)
        let journal = try Journal(path: path, random: SystemRandomSource())
        #expect(journal.mark == "out123")
        let entries = try journal.entries()
        #expect(entries.map(\.state) == [.closed])
        #expect(entries.map(\.record.name) == [Array("a".utf8)])
        let new = try Journal(path: folder.path("new.sqlite"), random: SystemRandomSource())
        #expect(
            try DevelopmentDatabase.schema(of: journal.database)
                == DevelopmentDatabase.schema(of: new.database))
    }

    @Test(arguments: [
        "state = 'queued'", "state = 'failed'", "state = 'unsure'", "state = 'sent'", "state = 'lost'",
        "chat = 'nobody'", "broken = 3", "hold = 'no such word'",
    ])
    func invalidRowFailsAsAWhole(change: String) throws {
        let folder = try TemporaryFolder()
        let path = folder.path("journal.sqlite")
        let journal = try Journal(path: path, random: SystemRandomSource())
        _ = try journal.insert(MachineFixture.record())
        let rows = try Database(path: path, migrations: Journal.migrations, durability: .eventual)
        try rows.transaction { connection in
            try connection.executeScript(
                "PRAGMA ignore_check_constraints = ON; UPDATE draft SET \(change)")
        }
        #expect(throws: StoreError.self) { try journal.entries() }
    }
}
