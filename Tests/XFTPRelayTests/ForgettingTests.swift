import Base
import Cryptography
import Glibc
import Network
import Store
import TestSupport
import Testing
import XFTP

@testable import XFTPRelay

/// Millions of records may be due: a stranger can create them for 768 bytes of quota each.
@Suite struct ForgettingTests {
    private static let count = 1200

    /// A stopped relay with many due records, one of which cannot be deleted.
    private static func stopped() async throws -> (place: RelayPlace, records: Database) {
        let place = try RelayPlace()
        await place.relay.stop()
        let records = try Database(
            path: place.folder.path("relay/records.db"), migrations: RelayRecords.migrations)
        let created = place.clock.now().seconds - 49 * 3600
        try records.transaction { connection in
            for number in 0..<count {
                try connection.execute(
                    "INSERT INTO chunk (sender_id, sender_key, size, digest, created) VALUES (?, ?, 65536, ?, ?)",
                    Array("\(number)".utf8), [1], [2], created)
                try connection.execute(
                    "INSERT INTO recipient (recipient_id, chunk, key) VALUES (?, ?, ?)",
                    Array("\(number)".utf8), connection.lastInsertedID, [3])
            }
            try connection.executeScript(
                """
                CREATE TRIGGER kept BEFORE DELETE ON chunk WHEN OLD.id = 300
                BEGIN SELECT RAISE(ABORT, 'kept by the test'); END
                """)
        }
        return (place, records)
    }

    private static func left(_ records: Database) throws -> Int {
        try records.read { connection in
            try connection.first("SELECT count(*) AS count FROM chunk") { Int($0.integer("count")) } ?? 0
        }
    }

    @Test func relayServesBeforeExpiryIsComplete() async throws {
        let (stopped, records) = try await Self.stopped()
        let place = try RelayPlace(folder: stopped.folder, clock: stopped.clock)
        let talk = try await place.connect()
        #expect(try await talk.ask(.ping) == .pong)
        #expect(try Self.left(records) == Self.count)
        await place.relay.stop()
    }

    /// Each transaction waits for the disk, so several records share one.
    @Test func manyRecordsAreDeletedInOneTransaction() async throws {
        let (stopped, records) = try await Self.stopped()
        let place = try RelayPlace(folder: stopped.folder, clock: stopped.clock)
        #expect(throws: StoreError.self) { try place.relay.expire() }
        #expect(try Self.left(records) == Self.count)
        try records.transaction { try $0.executeScript("DROP TRIGGER kept") }
        try place.relay.expire()
        #expect(try Self.left(records) == 0)
        await place.relay.stop()
    }

    @Test func expiredRecordsAreDeletedAfterStart() async throws {
        let (stopped, records) = try await Self.stopped()
        try records.transaction { try $0.executeScript("DROP TRIGGER kept") }
        let place = try RelayPlace(folder: stopped.folder, clock: stopped.clock)
        try await wait(until: "it is forgotten") { try Self.left(records) == 0 }
        await place.relay.stop()
    }

    /// A record with many recipients gets its own transaction, so that uploads do not wait for it.
    @Test func recordsWithManyRecipientsAreDeletedInBatches() throws {
        let folder = try TemporaryFolder()
        let records = try RelayRecords(path: folder.path("records.db"), random: SystemRandomSource())
        let key = SigningKey.generate().publicKey
        var made: [ChunkRecord] = []
        for _ in 0..<4 {
            let new = XFTPCommand.NewChunk(
                senderKey: key, size: 65_536, digest: [1], recipientKeys: Array(repeating: key, count: 3000),
                password: nil)
            let ids = try #require(
                try records.create(new, created: 0, in: Announcement(id: 1, now: 0), limit: 10))
            made.append(try #require(try records.chunk(ofSender: ids.sender)))
        }
        let deleted = try records.delete(made.map(\.id))
        #expect(deleted.map(\.?.recipients) == [3000, 3000])
        #expect(try records.chunk(ofSender: made[2].senderID) != nil)
        #expect(try records.delete(made.map(\.id)).map(\.?.recipients) == [nil, nil, 3000, 3000])
    }

    /// Deleting many records needs more room for the journal than a full disk has. RLIMIT_FSIZE acts on a process like
    /// a full disk, so this runs in a child process.
    @Test func fullDiskLetsRecordsBeDeletedSingly() async throws {
        await #expect(processExitsWith: .success) {
            signal(SIGXFSZ, SIG_IGN)
            let folder = try TemporaryFolder()
            let records = try RelayRecords(path: folder.path("records.db"), random: SystemRandomSource())
            let key = SigningKey.generate().publicKey
            let new = XFTPCommand.NewChunk(
                senderKey: key, size: 65_536, digest: SHA256.hash(key), recipientKeys: [key], password: nil)
            var made: [Int64] = []
            for _ in 0..<500 {
                let ids = try #require(
                    try records.create(new, created: 0, in: Announcement(id: 1, now: 0), limit: 1000))
                made.append(try #require(try records.chunk(ofSender: ids.sender)).id)
            }
            // An empty journal has room for the changes of one record.
            try records.database.checkpoint()
            let resource = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
            var limit = rlimit(rlim_cur: 65_536, rlim_max: rlim_t.max)
            try #require(setrlimit(resource, &limit) == 0)
            let first = try records.delete(made).count { $0 != nil }
            limit.rlim_cur = rlim_t.max
            try #require(setrlimit(resource, &limit) == 0)
            #expect(first == 1)
            #expect(try records.counts().chunks == 499)
            #expect(try records.delete(made).count { $0 != nil } == 499)
        }
    }
}
