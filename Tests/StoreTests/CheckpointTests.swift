import Base
import Glibc
import Posix
import TestSupport
import Testing

@testable import Store

@Suite("Checkpoints with concurrent users")
struct CheckpointTests {
    private let folder = ScratchFolder()

    private func journalSize() throws -> UInt64 {
        try OpenFile.existing(folder.path + "/notes.db-wal", flags: O_RDONLY)?.size() ?? 0
    }

    private func fill(_ database: Database) throws {
        try database.transaction { connection in
            for number in 0..<50 {
                try connection.execute(
                    "INSERT INTO folder (name) VALUES (?)",
                    "folder \(number) \(UInt64.random(in: 0...UInt64.max))")
            }
        }
    }

    @Test("without other users the journal is empty afterwards")
    func alone() throws {
        let database = try folder.database()
        try fill(database)
        #expect(try journalSize() > 0)
        try database.checkpoint()
        #expect(try journalSize() == 0)
        #expect(try database.count("folder") == 50)
    }

    /// The busy timeout is an hour, so a checkpoint that waited for it would never end.
    @Test("a reader makes the checkpoint partial", .timeLimit(.minutes(10)))
    func besideReader() throws {
        let database = try folder.database(busyTimeout: .seconds(3600))
        let reader = try folder.database()
        try fill(database)
        try reader.read { connection in
            #expect(try connection.exists("SELECT 1 FROM folder"))
            try onOtherThread {
                try fill(database)
                try database.checkpoint()
            }
            // The reader still sees the old content.
            #expect(
                try connection.first("SELECT count(*) AS count FROM folder") { $0.integer("count") } == 50)
        }
        #expect(try journalSize() > 0)
        try database.checkpoint()
        #expect(try journalSize() == 0)
        #expect(try reader.count("folder") == 100)
    }

    @Test("a writer is not disturbed by a checkpoint", .timeLimit(.minutes(10)))
    func besideWriter() throws {
        let database = try folder.database(busyTimeout: .seconds(3600))
        let writer = try folder.database()
        try fill(database)
        try writer.transaction { connection in
            try connection.execute("INSERT INTO folder (name) VALUES ('theirs')")
            try onOtherThread { try database.checkpoint() }
        }
        #expect(try database.count("folder") == 51)
        try database.checkpoint()
        #expect(try journalSize() == 0)
    }

    @Test("a checkpoint restores the busy timeout")
    func timeoutStays() throws {
        let first = try folder.database()
        let second = try folder.database(busyTimeout: .milliseconds(20))
        try first.transaction { connection in
            try connection.execute("INSERT INTO folder (name) VALUES ('a')")
            try onOtherThread {
                try second.checkpoint()
                let error = #expect(throws: StoreError.self) {
                    try second.transaction { _ = try $0.execute("INSERT INTO folder (name) VALUES ('b')") }
                }
                #expect(error?.code == .busy)
            }
        }
        // A writer with a longer timeout gets the lock when it is free.
        let third = try folder.database(busyTimeout: .seconds(60))
        try third.checkpoint()
        let isHeld = Monitor(false)
        let isTried = Monitor(false)
        let holder = try folder.database()
        Thread.start("holder") {
            _ = try? holder.transaction { connection in
                try connection.execute("INSERT INTO folder (name) VALUES ('c')")
                isHeld.change { $0 = true }
                isTried.wait { $0 ? true : nil }
            }
        }
        isHeld.wait { $0 ? true : nil }
        Thread.start("releasing") {
            usleep(400_000)
            isTried.change { $0 = true }
        }
        try third.transaction { _ = try $0.execute("INSERT INTO folder (name) VALUES ('d')") }
        #expect(try third.count("folder") == 3)
    }
}
