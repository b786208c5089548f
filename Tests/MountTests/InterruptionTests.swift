import Glibc
import Posix
import TestSupport
import Testing

/// The daemon is killed, or leaves, during transfers.
@Suite("Interrupted sending", .serialized)
struct InterruptionTests {
    @Test("kill -9 sends closed drafts, recovers open ones")
    func killed() async throws {
        let mounts = try await CopyStage.start()
        let bob = try await mounts.mount("bob")
        let names = (0..<12).map { "file \($0).bin" }
        for (number, name) in names.enumerated() {
            try mounts.prepare(name, sample(200_000 + number, seed: number))
        }
        // Killed at different times: at once, during the quiet time, during staging, during the hand-over. The daemon
        // knows a close when close(2) returns.
        for (round, delay) in [0, 150, 400, 900].enumerated() {
            let alice = try await mounts.mount("alice", quietTime: "300ms")
            let writer = try await RunningProcess.start(Self.openWriter(mounts.toBob, "half \(round).bin"))
            try await writer.line("that it has written") { $0 == "written" }
            for name in names[(round * 3)..<(round * 3 + 3)] {
                #expect(try await mounts.copy("cp \"$SOURCE/\(name)\" \"$FOLDER/\"").succeeded)
            }
            try await Task.sleep(for: .milliseconds(delay))
            alice.send(SIGKILL)
            try await alice.ending()
            writer.send(SIGKILL)
            try await writer.ending()
        }
        let alice = try await mounts.mount("alice")
        try await mounts.waitForArrival(of: names)
        #expect(try await mounts.expectEqual(names))
        try await mounts.waitUntilQuiet()
        #expect(try mounts.arrived().filter { !$0.hasPrefix("zz") } == names.sorted())
        let recovered = try mounts.folder.names(in: "a/.chatfs/recovered")
        #expect(recovered == (0..<4).map { "half \($0).bin" })
        for name in recovered {
            #expect(try mounts.folder.read("a/.chatfs/recovered/" + name) == Array("half of it".utf8))
        }
        // Sent files keep their names at the sender's side too.
        let own = try mounts.folder.names(in: "a/bob").filter { !$0.hasPrefix("zz") }
        #expect(own == names.sorted())
        #expect(try await alice.terminate() == .code(0))
        try await bob.terminate()
    }

    private static func openWriter(_ folder: String, _ name: String) throws -> ChildProcess.Settings {
        var settings = ChildProcess.Settings(
            try Shell.find("python3"),
            [
                "-c",
                "import signal, sys; signal.signal(signal.SIGTERM, lambda *_: sys.exit(0)); "
                    + "f = open(sys.argv[1], 'wb', buffering=0); f.write(b'half of it'); "
                    + "print('written', flush=True); sys.stdin.read()",
                folder + "/" + name,
            ])
        settings.input = .pipe
        return settings
    }

    @Test("unmount sends closed drafts and names writers")
    func unmounting() async throws {
        let mounts = try await CopyStage.start()
        let bob = try await mounts.mount("bob")
        let alice = try await mounts.mount("alice", quietTime: "1h")
        let writer = try await RunningProcess.start(Self.openWriter(mounts.toBob, "open.bin"))
        try await writer.line("that it has written") { $0 == "written" }
        // Small enough for one message: a longer upload would continue with the next mount.
        try mounts.prepare("closed.bin", sample(200_000))
        #expect(try await mounts.copy("cp \"$SOURCE/closed.bin\" \"$FOLDER/\"").succeeded)
        let busy = try await ChatFSProcess.run(["unmount", mounts.folder.path("a"), "--wait", "1s"])
        #expect(busy.ending == .code(1))
        #expect(busy.errors.contains("process \(writer.processIdentifier): bob/open.bin"), "\(busy.errors)")
        #expect(alice.isRunning)
        let status = try await ChatFSProcess.run(["status", mounts.folder.path("a")])
        #expect(
            status.succeeded && status.output.contains("draft  200 kB  bob/closed.bin"), "\(status.output)")
        // It finishes while unmount waits.
        async let leaving = ChatFSProcess.run(["unmount", mounts.folder.path("a"), "--wait", "60s"])
        // The wait is not visible from outside. If it has not begun yet, the result is right too.
        try await Task.sleep(for: .milliseconds(500))
        writer.send(SIGTERM)
        #expect(try await leaving.succeeded)
        #expect(try await alice.ending() == .code(0))
        #expect(try MountTable.mounts(below: mounts.folder.path("a")).isEmpty)
        try await mounts.waitForArrival(of: ["closed.bin", "open.bin"])
        #expect(try mounts.folder.read("b/alice/open.bin") == Array("half of it".utf8))
        try await bob.terminate()
    }

    @Test("chatfs send bypasses the mount, also repeatedly")
    func sendingPastTheMount() async throws {
        let mounts = try await CopyStage.start()
        let (alice, bob) = (try await mounts.mount("alice"), try await mounts.mount("bob"))
        try mounts.prepare("report.txt", Array("one".utf8))
        for _ in 0..<5 {
            try await mounts.chatfs(["send", mounts.source + "/report.txt", "bob", "--profile", "alice"])
        }
        try mounts.prepare("empty.part", [])
        try await mounts.chatfs(["send", mounts.source + "/empty.part", "bob", "--profile", "alice"])
        let names =
            ["empty.part", "report (2).txt", "report (3).txt", "report (4).txt", "report (5).txt"] + [
                "report.txt"
            ]
        try await mounts.waitForArrival(of: names)
        #expect(try mounts.arrived() == names)
        #expect(try mounts.folder.names(in: "a/bob") == names)
        // Forwards a received file through the mount that shows it.
        try await mounts.chatfs(["send", mounts.fromAlice + "/report.txt", "Saved notes", "--profile", "bob"])
        try await wait(until: "it is in the notes") {
            access(mounts.folder.path("b/Saved notes/report.txt"), F_OK) == 0
        }
        try await alice.terminate()
        try await bob.terminate()
    }

    @Test("a dead mount is reported and removed")
    func staleMount() async throws {
        let mounts = try await CopyStage.start()
        let alice = try await mounts.mount("alice")
        alice.send(SIGKILL)
        try await alice.ending()
        let status = try await ChatFSProcess.run(["status", mounts.folder.path("a")])
        #expect(status.ending == .code(1) && status.errors.contains("has died"), "\(status.errors)")
        #expect(try await ChatFSProcess.run(["unmount", mounts.folder.path("a")]).succeeded)
        #expect(try MountTable.mounts(below: mounts.folder.path("a")).isEmpty)
        let none = try await ChatFSProcess.run(["unmount", mounts.folder.path("a")])
        #expect(none.ending == .code(1) && none.errors.contains("No ChatFS mount exists"))
    }
}
