import Base
import ChatCore
import Glibc
import Store
import TestSupport
import Testing

@testable import Keeping

@Suite("Stored keep rules")
struct KeepStoreTests {
    private static let now = Timestamp(seconds: 1_800_000_000)

    private func candidate(_ number: Int64, hours: Int64 = 6) -> KeepCandidate {
        KeepCandidate(
            item: ItemID(number), file: FileID(number), chat: .direct(1), isMedia: false, size: 1,
            expires: Self.now.advanced(by: .seconds(hours * 3600)), phase: .offered)
    }

    @Test("settings persist until reset")
    func rules() throws {
        let folder = try TemporaryFolder()
        let store = try KeepStore(in: folder.path)
        #expect(try store.rules() == KeepRules())
        try store.change(nil, by: KeepOverride(kinds: .media, largest: UInt64(Int64.max)))
        try store.change(nil, by: KeepOverride(minimumFree: 5, usesMetered: false))
        try store.change(.direct(2), by: KeepOverride(receivesSmallMedia: true))
        try store.change(nil, by: KeepOverride(receivesSmallMedia: false))
        try store.change(.group(3), by: KeepOverride(kinds: .all, usesMetered: true, moment: .expiring))
        // Another process with the database open.
        let other = try KeepStore(in: folder.path)
        let wanted = KeepRules(
            profile: KeepOverride(
                kinds: .media, largest: UInt64(Int64.max), minimumFree: 5, usesMetered: false,
                receivesSmallMedia: false),
            chats: [
                .group(3): KeepOverride(kinds: .all, usesMetered: true, moment: .expiring),
                .direct(2): KeepOverride(receivesSmallMedia: true),
            ])
        #expect(try other.rules() == wanted)
        #expect(wanted.arrivals == ArrivalRule.Choice(usual: false, chats: [.direct(2): true]))
        try other.reset(.direct(2))
        try other.reset(.group(3))
        try other.reset(nil)
        #expect(try store.rules() == KeepRules())
        var status = stat()
        #expect(stat(folder.path("keep.sqlite"), &status) == 0 && status.st_mode & 0o777 == 0o600)
    }

    @Test("notices persist until they expire")
    func told() throws {
        let folder = try TemporaryFolder()
        let store = try KeepStore(in: folder.path)
        #expect(try store.noteTold([candidate(1), candidate(2)]).map(\.file) == [FileID(1), FileID(2)])
        store.close()
        let next = try KeepStore(in: folder.path)
        #expect(try next.untold([candidate(2), candidate(3)]).map(\.file) == [FileID(3)])
        #expect(try next.noteTold([candidate(2), candidate(3)]).map(\.file) == [FileID(3)])
        #expect(try next.lastScan() == nil)
        try next.noteScan(Self.now)
        #expect(try next.lastScan() == Self.now)
        #expect(try next.noteTold([candidate(1)]).isEmpty)
        try next.noteScan(Self.now.advanced(by: .seconds(30 * 24 * 3600)))
        #expect(try next.noteTold([candidate(1)]).map(\.file) == [FileID(1)])
    }

    @Test("development database opens")
    func development() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("keep.sqlite")
        try DevelopmentDatabase.make(
            "keep-rules", at: path, rows: "INSERT INTO rule (chat, kinds) VALUES ('', 'media')")
        #expect(try KeepStore(in: folder.path).rules() == KeepRules(profile: KeepOverride(kinds: .media)))
        let old = try Database(path: path, migrations: KeepStore.migrations)
        let new = try Database(path: folder.path("new.sqlite"), migrations: KeepStore.migrations)
        #expect(try DevelopmentDatabase.schema(of: old) == DevelopmentDatabase.schema(of: new))
    }

    @Test("invalid databases give errors")
    func damage() throws {
        let folder = try TemporaryFolder()
        try KeepStore(in: folder.path).close()
        let database = try Database(path: folder.path("keep.sqlite"), migrations: KeepStore.migrations)
        try database.transaction { connection in
            try connection.executeScript(
                "PRAGMA ignore_check_constraints = 1; INSERT INTO rule (chat, kinds) VALUES ('', 'everything')"
            )
        }
        database.close()
        #expect(throws: KeepingError.self) { try KeepStore(in: folder.path).rules() }
        let other = try TemporaryFolder()
        _ = try other.write(Array(repeating: 7, count: 5000), to: "keep.sqlite")
        #expect(throws: KeepingError.self) { try KeepStore(in: other.path) }
    }
}
