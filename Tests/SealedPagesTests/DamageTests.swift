import Base
import CSQLite
import Cryptography
import Glibc
import Posix
import TestSupport
import Testing

@testable import SealedPages
@testable import Store

/// Damage to a database causes an error or nothing, never other content.
@Suite struct DamageTests {
    let folder = SealedFolder()

    /// Returns the content, or nil if reading failed with a suitable code.
    private func contents(_ path: String) -> [String]? {
        do {
            let database = try Database(path: path, migrations: [notes], key: folder.key)
            let texts = try database.texts()
            _ = try database.read { try $0.query("SELECT content FROM note") { $0.bytes("content") } }
            return texts
        } catch let error as StoreError {
            let codes: [StoreError.Code] = [.damagedPage, .damaged, .notADatabase, .wrongKey]
            #expect(codes.contains(error.code), "\(error.code): \(error)")
            return nil
        } catch {
            Issue.record(error)
            return nil
        }
    }

    @Test func everyChangedBitIsAnErrorOrHarmless() throws {
        let database = try folder.open()
        for id in 0..<20 { try database.put(id, "note \(id)", size: 3000) }
        database.close()
        let whole = try Files.read(folder.database)
        let expected = (0..<20).map { "note \($0)" }
        var random = SeededGenerator(state: 15)
        var noticed = 0
        for _ in 0..<400 {
            var damaged = whole
            let place = Int.random(in: 0..<whole.count, using: &random)
            damaged[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            try Files.write(damaged, to: folder.database)
            let found = contents(folder.database)
            #expect(found == nil || found == expected, "byte \(place)")
            if found == nil { noticed += 1 }
            unlink(folder.log)
        }
        #expect(noticed > 200)
    }

    @Test func swappedAndForeignPagesAreDetected() throws {
        let database = try folder.open()
        for id in 0..<30 { try database.put(id, "note \(id)", size: 3000) }
        database.close()
        let whole = try Files.read(folder.database)
        let pages = whole.count / 4096
        var random = SeededGenerator(state: 16)
        for _ in 0..<100 {
            var damaged = whole
            let (from, to) = (
                Int.random(in: 1..<pages, using: &random), Int.random(in: 1..<pages, using: &random)
            )
            damaged.replaceSubrange(to * 4096..<(to + 1) * 4096, with: whole[from * 4096..<(from + 1) * 4096])
            try Files.write(damaged, to: folder.database)
            let found = contents(folder.database)
            #expect(found == nil || found == (0..<30).map { "note \($0)" }, "\(from) to \(to)")
            unlink(folder.log)
        }
    }

    /// The files after a kill, before any checkpoint.
    private func leaveLog(notes count: Int) throws -> (database: [UInt8], log: [UInt8]) {
        let database = try folder.open()
        try database.checkpoint()
        for id in 0..<count { try database.put(id, "note \(id)", size: 2000) }
        return (try Files.read(folder.database), try Files.read(folder.log))
    }

    @Test func damagedLogEndsAtTheDamage() throws {
        let (file, log) = try leaveLog(notes: 12)
        let elsewhere = folder.path + "/copy.db"
        var random = SeededGenerator(state: 17)
        var lengths: Set<Int> = []
        for _ in 0..<200 {
            var damaged = log
            let place = Int.random(in: 0..<log.count, using: &random)
            damaged[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            try Files.write(file, to: elsewhere)
            try Files.write(damaged, to: elsewhere + "-wal")
            unlink(elsewhere + "-shm")
            let found = contents(elsewhere)
            if let found {
                #expect(found == (0..<found.count).map { "note \($0)" }, "byte \(place)")
                lengths.insert(found.count)
            }
        }
        #expect(lengths.count > 3)
    }

    @Test func truncatedLogKeepsEarlierCommits() throws {
        let (file, log) = try leaveLog(notes: 6)
        let elsewhere = folder.path + "/copy.db"
        var last = 0
        for length in Array(stride(from: 0, to: log.count, by: 777)) + [log.count] {
            try Files.write(file, to: elsewhere)
            try Files.write(Array(log[..<length]), to: elsewhere + "-wal")
            unlink(elsewhere + "-shm")
            let found = try #require(contents(elsewhere))
            #expect(found == (0..<found.count).map { "note \($0)" })
            #expect(found.count >= last)
            last = found.count
        }
        #expect(last == 6)
    }

    /// SQLite writes memory from malloc(3) to the shared memory where the log has no frames.
    @Test func sharedMemoryHoldsNoProcessMemory() throws {
        let (file, log) = try leaveLog(notes: 3)
        #expect(SealedVFS.prepareMemory())
        // Makes malloc(3) return nonzero bytes: mallopt(3) with M_PERTURB, which Glibc does not import.
        let mallopt = unsafeBitCast(
            try #require(dlsym(nil, "mallopt")), to: (@convention(c) (Int32, Int32) -> Int32).self)
        #expect(mallopt(-6, 0x5A) == 1)
        defer { _ = mallopt(-6, 0) }
        let elsewhere = folder.path + "/copy.db"
        var damaged = log
        damaged[FileLayout.sealedLogHeaderLength + 100] ^= 1
        try Files.write(file, to: elsewhere)
        try Files.write(damaged, to: elsewhere + "-wal")
        let connection = try Connection(path: elsewhere, key: folder.key)
        defer { connection.close() }
        _ = try connection.exists("SELECT 1 FROM sqlite_schema")
        let shared = try Files.read(elsewhere + "-shm")
        #expect(shared.count >= 32_768)
        // After the header (136 bytes) there is no frame, so nothing.
        #expect(shared[136..<32_768].allSatisfy { $0 == 0 })
    }

    /// The process is killed during a checkpoint and the log is then damaged, so the file mixes two states.
    @Test(arguments: ["cut", "gone", "header", "nonce", "frame", "another"])
    func missingLogAfterPartialCheckpointIsDetected(_ damage: String) throws {
        let (file, log) = try leaveLog(notes: 12)
        let elsewhere = folder.path + "/copy.db"
        try Files.write(file, to: elsewhere)
        try Files.write(log, to: elsewhere + "-wal")
        // A reader at the start of the log keeps the checkpoint from finishing.
        do {
            let database = try Database(path: elsewhere, migrations: [notes], key: folder.key)
            let reader = try Connection(path: elsewhere, key: folder.key)
            try reader.executeScript("BEGIN; SELECT count(*) FROM note")
            try database.put(100, "later", size: 9000)
            try Connection(path: elsewhere, key: folder.key).executeScript("PRAGMA wal_checkpoint(PASSIVE)")
            let (newFile, newLog) = (try Files.read(elsewhere), try Files.read(elsewhere + "-wal"))
            try reader.executeScript("ROLLBACK")
            reader.close()
            database.close()
            try Files.write(newFile, to: elsewhere)
            try Files.write(newLog, to: elsewhere + "-wal")
            unlink(elsewhere + "-shm")
        }
        #expect(try Files.read(elsewhere) != file)
        var damaged = try Files.read(elsewhere + "-wal")
        let whole = (try Files.read(elsewhere), damaged)
        switch damage {
        case "cut": damaged.removeLast(damaged.count * 2 / 3)
        case "gone": damaged = []
        case "header": damaged[3] ^= 1
        case "nonce": damaged[60] ^= 1
        case "frame": damaged[FileLayout.sealedLogHeaderLength + 3 * FileLayout.sealedFrameLength + 500] ^= 1
        default: damaged = try anotherLog(than: damaged)
        }
        try Files.write(damaged, to: elsewhere + "-wal")
        #expect(contents(elsewhere) == nil)
        // The intact log gives the committed content.
        try Files.write(whole.0, to: elsewhere)
        try Files.write(whole.1, to: elsewhere + "-wal")
        unlink(elsewhere + "-shm")
        #expect(contents(elsewhere) == (0..<12).map { "note \($0)" } + ["later"])
    }

    /// An earlier, intact log of the same database.
    private func anotherLog(than log: [UInt8]) throws -> [UInt8] {
        let database = try folder.open()
        try database.checkpoint()
        try database.put(50, "another")
        try database.put(51, "another")
        return try Files.read(folder.log)
    }

    @Test func olderLogIsDetected() throws {
        let (_, old) = try leaveLog(notes: 5)
        let database = try folder.open()
        try database.checkpoint()
        for id in 0..<5 { try database.put(id, "changed", size: 2000) }
        try database.checkpoint()
        database.close()
        let file = try Files.read(folder.database)
        let elsewhere = folder.path + "/copy.db"
        try Files.write(file, to: elsewhere)
        try Files.write(old, to: elsewhere + "-wal")
        #expect(contents(elsewhere) == nil)
        unlink(elsewhere + "-wal")
        unlink(elsewhere + "-shm")
        #expect(contents(elsewhere) == [String](repeating: "changed", count: 5))
    }

    @Test func pageDamagedWhileOpenIsAnError() throws {
        let database = try folder.open()
        for id in 0..<200 { try database.put(id, "note \(id)", size: 3000) }
        try database.checkpoint()
        let fresh = try folder.open()
        let file = try OpenFile(folder.database, flags: O_RDWR)
        let middle = try file.size() / 8192 * 4096
        try file.write([UInt8](repeating: 0, count: 4096), at: middle)
        let error = #expect(throws: StoreError.self) {
            _ = try fresh.read { try $0.query("SELECT content FROM note") { $0.bytes("content") } }
        }
        #expect(error?.code == .damagedPage)
        #expect(error?.sentence.contains("damaged") == true)
    }
}
