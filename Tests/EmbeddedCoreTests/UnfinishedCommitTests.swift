import Base
import ChatCore
import Glibc
import Posix
import Store
import TestSupport
import Testing

@testable import EmbeddedCore

/// A process is killed between writing a commit's last frame and publishing it in shared memory. Other open
/// processes do not see the commit; after a power cut it exists.
@Suite struct UnfinishedCommitTests {
    @Test func fileRemovalSurvivesPowerCut() async throws {
        let world = try World(["alice"])
        let alice = try await world.open("alice")
        let notes = try await alice.chat(named: "Saved notes")
        _ = try await alice.send(try alice.compose(pattern(5_000)), to: notes)
        await alice.shutDown()
        let data = world.folder.path("data")
        let files = data + "/profiles/1/files/"
        let name = try #require(try world.folder.names(in: "data/profiles/1/files").first)

        // A process that keeps the database open.
        let other = try world.database()
        try other.transaction { try $0.execute("UPDATE profile SET created = created + 1") }
        let shared = try OpenFile(data + "/chatfs.db-shm", flags: O_RDWR)
        let before = try shared.readAll(limit: 1 << 20)
        // The killed process's commit: the file has another name, and its row says so.
        try check("link a file") { link(files + name, files + "unfinished") }
        try other.transaction { try $0.execute("UPDATE file SET stored_name = 'unfinished'") }
        try shared.write(before, at: 0)
        let found = try other.read { try $0.first("SELECT stored_name FROM file") { $0.text("stored_name") } }
        #expect(found == name, "for the living it has not happened")

        let next = try await world.open("alice", relays: [])
        #expect(try world.folder.names(in: "data/profiles/1/files") == [name])
        // A power cut loses shared memory only.
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
