import Base
import ChatCore
import Glibc
import Posix
import Store
import TestSupport
import Testing

@testable import EmbeddedCore

/// A process is killed after it wrote the last frame of a commit into the journal, and before it told the others in
/// shared memory. While one of them has the database open, that commit has not happened; after a power cut it has.
@Suite struct UnfinishedCommitTests {
    @Test func aFileIsRemovedOnlyWhenNoPowerCutBringsItsRowBack() async throws {
        let world = try World(["alice"])
        let alice = try await world.open("alice")
        let notes = try await alice.chat(named: "Saved notes")
        _ = try await alice.send(try alice.compose(pattern(5_000)), to: notes)
        await alice.shutDown()
        let data = world.folder.path("data")
        let files = data + "/profiles/1/files/"
        let name = try #require(try world.folder.names(in: "data/profiles/1/files").first)

        // Somebody who has the database open all the time.
        let other = try world.database()
        try other.transaction { try $0.execute("UPDATE profile SET created = created + 1") }
        let shared = try OpenFile(data + "/chatfs.db-shm", flags: O_RDWR)
        let before = try shared.readAll(limit: 1 << 20)
        // The commit of the one that is killed: the file has another name, and the row says so.
        try check("link a file") { link(files + name, files + "unfinished") }
        try other.transaction { try $0.execute("UPDATE file SET stored_name = 'unfinished'") }
        try shared.write(before, at: 0)
        let found = try other.read { try $0.first("SELECT stored_name FROM file") { $0.text("stored_name") } }
        #expect(found == name, "for the living it has not happened")

        let next = try await world.open("alice", relays: [])
        #expect(try world.folder.names(in: "data/profiles/1/files") == [name])
        // The power goes: shared memory is gone, all else is there.
        let copy = try await Shell.run("cp", ["-a", data, world.folder.path("after the cut")])
        #expect(copy.succeeded, "\(copy.errors)")
        await next.shutDown()
        other.close()
        unlink(world.folder.path("after the cut/chatfs.db-shm"))
        let afterwards = try Database(
            path: world.folder.path("after the cut/chatfs.db"), migrations: Schema.migrations)
        let named = try afterwards.read {
            try $0.first("SELECT stored_name FROM file") { $0.text("stored_name") }
        }
        #expect(named == name, "its row speaks of a file that is gone")
        afterwards.close()
    }
}
