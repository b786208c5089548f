import Glibc
import Posix
import TestSupport
import Testing

@Suite("Stored files that somebody writes into", .serialized)
struct StoredFileTests {
    @Test("who opens one again gets EBADMSG, and never a byte that nobody sent")
    func changed() async throws {
        let mounts = try await TwoMounts.start()
        let bytes = TwoMounts.bytes(2_000_000)
        try await mounts.send(bytes, as: "film.bin")
        #expect(try await ChatFSProcess.run(["hydrate", mounts.path("bob/alice/film.bin")]).succeeded)
        // The kernel has some pages only: the others would come from the changed file.
        let first = try OpenFile(mounts.path("bob/alice/film.bin"), flags: O_RDONLY)
        #expect(try first.read(count: 10_000, at: 0) == Array(bytes[..<10_000]))
        let folder = "data/profiles/2/files"
        let stored = try mounts.folder.names(in: folder)
        #expect(stored.count == 1)
        let file = try OpenFile(mounts.path(folder + "/" + stored[0]), flags: O_RDWR)
        let changed = try file.read(count: 1, at: 1_500_000).map { $0 ^ 1 }
        try file.write(changed, at: 1_500_000)
        // Who had it open reads what is there; the next one has it looked at.
        _ = try? first.read(count: 500_000, at: 1_400_000)
        for _ in 0..<3 {
            let again = try OpenFile(mounts.path("bob/alice/film.bin"), flags: O_RDONLY)
            let error = #expect(throws: SystemError.self) { try again.read(count: 500_000, at: 1_400_000) }
            #expect(error?.code == EBADMSG)
        }
        #expect(try mounts.state("bob/alice/film.bin") == "failed")
    }
}
