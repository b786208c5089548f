import Glibc
import Posix
import TestSupport
import Testing

@Suite("Files in .chatfs/recovered", .serialized)
struct RecoveredFileTests {
    /// Kills Alice's mount during a write.
    private func leaveUnfinished(_ name: String, _ text: String, _ mounts: CopyStage, _ alice: RunningProcess)
        async throws
    {
        let file = try OpenFile(mounts.toBob + "/" + name, flags: O_WRONLY | O_CREAT)
        try file.write(Array(text.utf8), at: 0)
        alice.send(SIGKILL)
        try await alice.ending()
        withExtendedLifetime(file) {}
        _ = try await Shell.run("umount", ["-l", mounts.folder.path("a")])
        _ = try await Shell.run("fusermount3", ["-u", "-z", mounts.folder.path("a")])
    }

    @Test("recovered files persist and are sent when renamed")
    func life() async throws {
        let mounts = try await CopyStage.start()
        let bob = try await mounts.mount("bob")
        let recovered = mounts.folder.path("a/.chatfs/recovered")
        try await leaveUnfinished("half.txt", "half a thought", mounts, try await mounts.mount("alice"))
        // Another file takes the name meanwhile.
        let alice = try await mounts.mount("alice", quietTime: "200ms")
        #expect(try mounts.folder.names(in: "a/.chatfs/recovered") == ["half.txt"])
        try mounts.folder.write(Array("whole".utf8), to: "a/bob/half.txt")
        try await mounts.waitForArrival(of: ["half.txt"])
        #expect(try await alice.terminate() == .code(0))
        let again = try await mounts.mount("alice", quietTime: "200ms")
        #expect(try mounts.folder.read("a/.chatfs/recovered/half.txt") == Array("half a thought".utf8))
        let status = try await ChatFSProcess.run(["status", mounts.folder.path("a")])
        #expect(status.output.contains("recovered  14 B  .chatfs/recovered/half.txt"), "\(status.output)")
        // It is read-only there.
        #expect((try? OpenFile(recovered + "/half.txt", flags: O_WRONLY)) == nil)
        let retried = try await ChatFSProcess.run(["retry", recovered + "/half.txt"])
        #expect(retried.succeeded, "\(retried.errors)")
        #expect(try mounts.folder.names(in: "a/.chatfs/recovered") == [])
        try await mounts.waitForArrival(of: ["half (2).txt"])
        #expect(try mounts.folder.read("b/alice/half (2).txt") == Array("half a thought".utf8))
        #expect(try mounts.folder.names(in: "a/bob") == ["half (2).txt", "half.txt"])
        for mount in [again, bob] { #expect(try await mount.terminate() == .code(0)) }
    }

    @Test("a temporary name is sent when renamed")
    func temporaryNames() async throws {
        let mounts = try await CopyStage.start()
        let (alice, bob) = (
            try await mounts.mount("alice", quietTime: "200ms"), try await mounts.mount("bob")
        )
        let names = ["report.tmp", "film.mkv.part", ".bashrc.202411", "sedBench1"]
        for name in names {
            try mounts.prepare(name, Array(name.utf8))
            #expect(try await mounts.copy("mv \"$SOURCE/\(name)\" \"$FOLDER/\"").succeeded)
        }
        try await mounts.waitUntilQuiet()
        for name in names {
            let problem = try ExtendedAttribute.text("user.chatfs.error", of: mounts.toBob + "/" + name)
            #expect(problem?.contains("moves to .chatfs/recovered after 7 days") == true, "\(name)")
            #expect(try mounts.state(name) == "draft")
            #expect(try await ChatFSProcess.run(["retry", mounts.toBob + "/" + name]).succeeded)
        }
        try await mounts.waitForArrival(of: ["report.tmp", "film.mkv.part", "bashrc.202411", "sedBench1"])
        for mount in [alice, bob] { #expect(try await mount.terminate() == .code(0)) }
    }
}
