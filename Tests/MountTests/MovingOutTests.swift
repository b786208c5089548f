import Glibc
import Posix
import TestSupport
import Testing

/// Files that programs copy or move out of a mount.
@Suite("Copies and moves of received files", .serialized)
struct MovingOutTests {
    @Test("a moved file exists in both places")
    func moving() async throws {
        let mounts = try await TwoMounts.start()
        try await mounts.send(TwoMounts.bytes(400_000), as: "film.bin")
        let watch = try await FolderWatch.start(mounts.path("bob/alice"))
        let moved = try await Shell.run("mv", [mounts.path("bob/alice/film.bin"), mounts.path("moved.bin")])
        #expect(moved.succeeded, "\(moved.errors)")
        #expect(
            try await Shell.run("cmp", [mounts.path("moved.bin"), mounts.path("alice/bob/film.bin")])
                .succeeded)
        try await watch.waitFor("CREATE film.bin")
        #expect(try mounts.read("bob/alice/film.bin") == TwoMounts.bytes(400_000))
        let removed = try await Shell.run("rm", ["-f", mounts.path("bob/alice/film.bin")])
        #expect(removed.errors.contains("Operation not permitted"))
    }

    @Test("copies have the mode of new files")
    func modes() async throws {
        let mounts = try await TwoMounts.start()
        try await mounts.send(TwoMounts.bytes(10), as: "note.txt")
        let outcome = try await Shell.script(
            """
            touch new && cp bob/alice/note.txt plain && cp -p bob/alice/note.txt exact && echo more >> exact &&
            stat -c %a new plain exact
            """, folder: mounts.folder.path)
        let modes = Set(outcome.output.split(separator: "\n"))
        #expect(outcome.succeeded && modes.count == 1, "\(outcome)")
    }
}
