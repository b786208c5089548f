import Base
import Cryptography
import Glibc
import Network
import Posix
import Store
import TestSupport
import Testing
import XFTP

@testable import XFTPRelay

/// Limits for an attacker who wants to fill a relay's disk: no more than its quota, and not for long.
@Suite struct CostTests {
    /// The quota of a record with one recipient.
    private static let record = Quota.record(recipients: 1)

    @Test func recordsWithoutBytesCountInTheQuota() async throws {
        let place = try RelayPlace { $0.quota = Self.record * 3 + 65_536 }
        let talk = try await place.connect()
        var chunks: [TestChunk] = []
        for _ in 0..<3 {
            var chunk = TestChunk()
            try await chunk.create(on: talk)
            chunks.append(chunk)
        }
        let stored = try await chunks[0].put(on: talk)
        #expect(stored == .ok)
        let more = TestChunk()
        func expectFull(on talk: RelayTalk) async throws {
            let refused = try await talk.ask(more.announcement(), key: more.sender)
            #expect(refused == .error(.quota))
            let added = try await talk.ask(
                .addRecipients(keys: [more.sender.publicKey]), entity: chunks[0].senderID,
                key: chunks[0].sender)
            #expect(added == .error(.quota))
        }
        try await expectFull(on: talk)
        // Also after a restart, until something is deleted.
        await place.relay.stop()
        let again = try RelayPlace(folder: place.folder) { $0.quota = Self.record * 3 + 65_536 }
        let next = try await again.connect()
        try await expectFull(on: next)
        _ = try await next.ask(
            .acknowledge, entity: chunks[1].recipientIDs[0], key: chunks[1].recipients[0])
        let added = try await next.ask(
            .addRecipients(keys: [more.sender.publicKey]), entity: chunks[0].senderID, key: chunks[0].sender)
        guard case .added = added else {
            Issue.record("released quota is not available")
            return
        }
        try await expectFull(on: next)
        _ = try await next.ask(.delete, entity: chunks[2].senderID, key: chunks[2].sender)
        var fitting = TestChunk()
        try await fitting.create(on: next)
        try await expectFull(on: next)
        await again.relay.stop()
    }

    /// Database and journal stay within the quota plus their initial size.
    @Test func databaseSizeIsBoundedByTheQuota() async throws {
        let quota: UInt64 = 1 << 20
        let place = try RelayPlace { $0.quota = quota }
        let empty = try Self.databaseSize(place)
        let talk = try await place.connect()
        let keys = (0..<240).map { _ in SigningKey.generate().publicKey }
        var (made, refused) = (0, 0)
        var last: (id: [UInt8], key: SigningKey)?
        while refused < 3 {
            let sender = SigningKey.generate()
            let long = [UInt8](repeating: 7, count: 255)
            let chunk = XFTPCommand.NewChunk(
                senderKey: sender.publicKey, size: 65_536, digest: long,
                recipientKeys: made % 8 == 0 ? keys : [keys[0]], password: nil)
            switch try await talk.ask(.create(chunk), key: sender) {
            case .created(let id, _): (made, last) = (made + 1, (id, sender))
            case .error(.quota): refused += 1
            case let other: Issue.record("answered \(other)")
            }
            if made % 5 == 0, let last {
                _ = try await talk.ask(.addRecipients(keys: keys), entity: last.id, key: last.key)
            }
        }
        #expect(made > 5)
        let size = try Self.databaseSize(place)
        #expect(size.records - empty.records <= quota, "\(size.records) bytes of records")
        #expect(size.journal <= 8 << 20, "\(size.journal) bytes of journal")
        await place.relay.stop()
    }

    private static func databaseSize(_ place: RelayPlace) throws -> (records: UInt64, journal: UInt64) {
        func size(_ name: String) -> UInt64 {
            var status = stat()
            return stat(place.folder.path("relay/" + name), &status) == 0 ? UInt64(status.st_size) : 0
        }
        return (size("records.db"), size("records.db-wal"))
    }

    @Test func recipientsOfAChunkAreLimited() async throws {
        let place = try RelayPlace()
        let talk = try await place.connect()
        var chunk = TestChunk()
        try await chunk.create(on: talk)
        let key = SigningKey.generate().publicKey
        func add(_ count: Int) async throws -> XFTPResponse {
            try await talk.ask(
                .addRecipients(keys: Array(repeating: key, count: count)), entity: chunk.senderID,
                key: chunk.sender)
        }
        for _ in 0..<16 {
            guard case .added = try await add(255) else {
                Issue.record("refused too early")
                return
            }
        }
        let tooMany = try await add(16)
        #expect(tooMany == .error(.quota))
        guard case .added(let ids) = try await add(15) else {
            Issue.record("the last ones are refused")
            return
        }
        #expect(ids.count == 15)
        let full = try await add(1)
        #expect(full == .error(.quota))
        await place.relay.stop()
    }

    @Test func announcedChunksPerAddressAreLimited() async throws {
        let place = try RelayPlace { $0.maxAnnounced = 20 }
        let talk = try await place.connect()
        var chunk = TestChunk()
        for _ in 0..<20 { try await chunk.create(on: talk) }
        let refused = try await talk.ask(chunk.announcement(), key: chunk.sender)
        #expect(refused == .error(.quota))
        let stored = try await chunk.put(on: talk)
        #expect(stored == .ok)
        try await chunk.create(on: talk)
        let again = try await talk.ask(chunk.announcement(), key: chunk.sender)
        #expect(again == .error(.quota))
        // Over any connection.
        let other = try await place.connect()
        let there = try await other.ask(chunk.announcement(), key: chunk.sender)
        #expect(there == .error(.quota))
        await place.relay.stop()
    }

    @Test func theDocumentedLimitIsTheDefault() {
        #expect(RelaySettings(folder: "").maxAnnounced == 8192)
    }

    @Test func addressesOfClientsAreNotStored() async throws {
        let place = try RelayPlace()
        let talk = try await place.connect()
        var chunk = TestChunk()
        try await chunk.create(on: talk)
        #expect(try await chunk.put(on: talk) == .ok)
        await place.relay.stop()
        let files = ["records.db", "records.db-wal"].compactMap { try? place.folder.read("relay/" + $0) }
        let bytes = Array(files.joined())
        #expect(bytes.count > 4096)
        #expect(!bytes.contains(Array("127.0.0.1".utf8)) && !bytes.contains([127, 0, 0, 1]))
    }

    @Test func recordsWithoutBytesExpireAfterAnHour() async throws {
        let place = try RelayPlace { $0.quota = Self.record + 65_536 }
        let talk = try await place.connect()
        var chunk = TestChunk()
        try await chunk.create(on: talk)
        place.clock.advance(by: .seconds(3600))
        #expect(try place.relay.expire() == 0)
        place.clock.advance(by: .seconds(1))
        #expect(try place.relay.expire() == 1)
        let late = try await chunk.put(on: talk)
        #expect(late == .error(.authorization))
        // Its quota is free, and stored chunks remain.
        try await chunk.create(on: talk)
        let stored = try await chunk.put(on: talk)
        #expect(stored == .ok)
        place.clock.advance(by: .seconds(40 * 3600))
        #expect(try place.relay.expire() == 0)
        await place.relay.stop()
    }

    /// An announcement stays only while chunks are missing, and counts in no quota.
    @Test func completeAnnouncementsAreDeleted() async throws {
        let place = try RelayPlace()
        let records = try Database(
            path: place.folder.path("relay/records.db"), migrations: RelayRecords.migrations)
        func count() throws -> Int? {
            try records.read { connection in
                try connection.first("SELECT count(*) AS count FROM announcement") {
                    Int($0.integer("count"))
                }
            }
        }
        let talk = try await place.connect()
        var chunks = [TestChunk(), TestChunk(), TestChunk()]
        for index in chunks.indices { try await chunks[index].create(on: talk) }
        #expect(try await talk.ask(.delete, entity: chunks[0].senderID, key: chunks[0].sender) == .ok)
        #expect(try await chunks[1].put(on: talk) == .ok)
        #expect(try count() == 1)
        #expect(try await talk.ask(.delete, entity: chunks[2].senderID, key: chunks[2].sender) == .ok)
        #expect(try count() == 0)
        // The same connection continues.
        try await chunks[0].create(on: talk)
        #expect(try count() == 1)
        #expect(try await chunks[0].put(on: talk) == .ok)
        #expect(try count() == 0)
        await place.relay.stop()
    }

    /// The official client creates all records of a large file first, and its line may be slow.
    @Test func uploadsExtendTheirAnnouncement() async throws {
        let place = try RelayPlace()
        let talk = try await place.connect()
        var chunks: [TestChunk] = []
        for _ in 0..<4 {
            var chunk = TestChunk()
            try await chunk.create(on: talk)
            chunks.append(chunk)
        }
        for chunk in chunks {
            place.clock.advance(by: .seconds(3000))
            #expect(try place.relay.expire() == 0)
            // From any connection.
            let answer = try await chunk.put(on: try await place.connect())
            #expect(answer == .ok)
        }
        await place.relay.stop()
    }

    @Test func recordsOfEarlierVersionsExpireToo() async throws {
        let place = try RelayPlace()
        await place.relay.stop()
        let path = place.folder.path("relay/records.db")
        for suffix in ["", "-wal", "-shm"] { unlink(path + suffix) }
        let created = place.clock.now().seconds
        try DevelopmentDatabase.make(
            "file-relay", at: path,
            rows: """
                INSERT INTO announcement (id, due) VALUES (1, \(created + 7200));
                INSERT INTO chunk (sender_id, sender_key, size, digest, created, stored, announcement) VALUES
                    (x'00', x'01', 65536, x'02', \(created), 0, 1), (x'01', x'01', 65536, x'02', \(created), 1, NULL);
                """)
        let records = try Database(path: path, migrations: RelayRecords.migrations)
        let new = try Database(path: place.folder.path("new.db"), migrations: RelayRecords.migrations)
        #expect(try DevelopmentDatabase.schema(of: records) == DevelopmentDatabase.schema(of: new))
        records.close()
        let again = try RelayPlace(folder: place.folder, clock: place.clock)
        #expect(try again.relay.expire() == 0)
        // A chunk with lost bytes can be uploaded again until it expires.
        place.clock.advance(by: .seconds(7201))
        #expect(try again.relay.expire() == 1)
        await again.relay.stop()
    }
}
