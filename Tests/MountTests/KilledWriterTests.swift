import Glibc
import Posix
import TestSupport
import Testing

/// Programs killed while writing, and others that only look so.
@Suite("Killed writers", .serialized)
struct KilledWriterTests {
    @Test("a killed program's file needs a retry")
    func signals() async throws {
        let mounts = try await CopyStage.start()
        let (alice, bob) = (
            try await mounts.mount("alice", quietTime: "100ms"), try await mounts.mount("bob")
        )
        let bytes = sample(1_000_000)
        let signals = ["int": SIGINT, "term": SIGTERM, "hup": SIGHUP, "kill": SIGKILL]
        for (name, signal) in signals {
            try mounts.prepare(name, bytes)
            let writer = try await RunningProcess.start(
                SlowWriter.settings(mounts, name, stopsAfter: 300_000))
            try await writer.line("that it has written a part") { $0 == "300000" }
            writer.send(signal)
            #expect(try await writer.ending() == .signal(signal))
        }
        // Download programs set the size before the first byte, by descriptor or by name.
        let allocations = ["allocated": "os.ftruncate(f, 1000000)", "named": "os.truncate(path, 1000000)"]
        for (name, step) in allocations {
            let allocated = try await RunningProcess.start(Self.lengthSetter(mounts.toBob, name, step))
            try await allocated.line("that the length is set") { $0 == "set" }
            allocated.send(SIGKILL)
            #expect(try await allocated.ending() == .signal(SIGKILL))
        }
        try await mounts.waitUntilQuiet()
        #expect(try mounts.arrived().filter { !$0.hasPrefix("zz") } == [])
        for name in allocations.keys {
            #expect(try mounts.state(name) == "draft", "\(name)")
            let problem = try ExtendedAttribute.text("user.chatfs.error", of: mounts.toBob + "/" + name)
            #expect(problem?.contains("was killed") == true, "\(name)")
        }
        let status = try await ChatFSProcess.run(["status", mounts.folder.path("a")])
        for name in signals.keys {
            #expect(try mounts.state(name) == "draft")
            let path = mounts.toBob + "/" + name
            #expect(try ExtendedAttribute.text("user.chatfs.error", of: path)?.contains("was killed") == true)
            #expect(try mounts.folder.read("a/bob/" + name) == Array(bytes[..<300_000]))
            #expect(status.output.contains("bob/\(name)"), "\(status.output)")
        }
        // The next mount remembers.
        #expect(try await alice.terminate() == .code(0))
        let again = try await mounts.mount("alice", quietTime: "100ms")
        #expect(try mounts.state("int") == "draft")
        // Copied again, continued, or accepted as it is.
        #expect(try await mounts.copy("cp \"$SOURCE/int\" \"$FOLDER/\"").succeeded)
        #expect(try await mounts.copy("tail -c +300001 \"$SOURCE/term\" >> \"$FOLDER/term\"").succeeded)
        #expect(try await ChatFSProcess.run(["retry", mounts.toBob + "/hup"]).succeeded)
        let refused = try await ChatFSProcess.run(["retry", mounts.toBob + "/absent"])
        #expect(refused.ending == .code(1))
        try await mounts.waitForArrival(of: ["int", "term", "hup"])
        try await mounts.waitUntilQuiet()
        #expect(try mounts.folder.read("b/alice/int") == bytes)
        #expect(try mounts.folder.read("b/alice/term") == bytes)
        #expect(try mounts.folder.read("b/alice/hup") == Array(bytes[..<300_000]))
        #expect(try mounts.arrived().filter { !$0.hasPrefix("zz") } == ["hup", "int", "term"])
        #expect(try await again.terminate() == .code(0))
        try await bob.terminate()
    }

    private static func lengthSetter(
        _ folder: String, _ name: String, _ step: String
    ) throws -> ChildProcess.Settings {
        var settings = ChildProcess.Settings(
            try Shell.find("python3"),
            [
                "-c",
                """
                import os, sys
                path = sys.argv[1]
                f = os.open(path, os.O_WRONLY | os.O_CREAT)
                \(step)
                print('set', flush=True)
                sys.stdin.read()
                """,
                folder + "/" + name,
            ])
        settings.input = .pipe
        return settings
    }

    /// Descriptors closed by a program's exit, and by children that inherit them.
    private static let orderly = [
        // A shell that exits with the redirection open; a program that exits without closing.
        "exit": "exec 3>\"$FOLDER/exit\"; printf whole >&3; exit 7",
        "python":
            "python3 -c \"import os; os.write(os.open('$FOLDER/python', 65, 384), b'whole'); os._exit(3)\"",
        // With threads, which exit kills.
        "threads": """
        python3 -c "
        import os, threading, time
        for n in range(8): threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
        os.write(os.open('$FOLDER/threads', 65, 384), b'whole'); os._exit(0)"
        """,
        // A thread that writes and ends before another one closes.
        "thread": """
        python3 -c "
        import os, threading
        f = os.open('$FOLDER/thread', 65, 384)
        t = threading.Thread(target=os.write, args=(f, b'whole')); t.start(); t.join(); os.close(f)"
        """,
        // A child that inherits the descriptor and is killed, and one that closes it in exec.
        "child": """
        python3 -c "
        import os, signal, subprocess
        f = os.open('$FOLDER/child', 65, 384); os.write(f, b'wh')
        c = os.fork()
        if c == 0: signal.pause()
        os.kill(c, 9); os.waitpid(c, 0)
        subprocess.run(['true'], close_fds=False); subprocess.run(['true'])
        os.write(f, b'ole'); os.close(f)"
        """,
        // The same before the first byte, with only the size set.
        "length": """
        python3 -c "
        import os, signal
        f = os.open('$FOLDER/length', 65, 384); os.ftruncate(f, 5)
        c = os.fork()
        if c == 0: signal.pause()
        os.kill(c, 9); os.waitpid(c, 0)
        os.write(f, b'whole'); os.close(f)"
        """,
        // A living program sets the size by name, and one with the file open is killed.
        "by name": """
        python3 -c "
        import os, signal
        p = '$FOLDER/by name'
        f = os.open(p, 65, 384); c = os.fork()
        if c == 0:
            os.close(f); f = os.open(p, 1); signal.pause()
        os.truncate(p, 5); os.kill(c, 9); os.waitpid(c, 0)
        os.write(f, b'whole'); os.close(f)"
        """,
        // Killed before its first write; another program writes.
        "before": "sh -c 'kill -9 $$' > \"$FOLDER/before\"; printf whole > \"$FOLDER/before\"",
        // Memory written after the file was closed.
        "mapped": """
        python3 -c "
        import mmap, os
        f = os.open('$FOLDER/mapped', os.O_RDWR | os.O_CREAT); os.ftruncate(f, 5)
        m = mmap.mmap(f, 5); os.close(f); m[:] = b'whole'"
        """,
    ]

    @Test("a regular end sends despite inherited descriptors")
    func orderlyEnds() async throws {
        let mounts = try await CopyStage.start()
        let (alice, bob) = (
            try await mounts.mount("alice", quietTime: "100ms"), try await mounts.mount("bob")
        )
        for (name, line) in Self.orderly {
            let outcome = try await mounts.copy(line)
            #expect(outcome.succeeded || name == "exit" || name == "python", "\(name): \(outcome.errors)")
        }
        try await mounts.waitForArrival(of: Array(Self.orderly.keys))
        for name in Self.orderly.keys {
            #expect(try mounts.folder.read("b/alice/" + name) == Array("whole".utf8), "\(name)")
        }
        try await mounts.waitUntilQuiet()
        #expect(try mounts.arrived().filter { !$0.hasPrefix("zz") } == Self.orderly.keys.sorted())
        try await alice.terminate()
        try await bob.terminate()
    }

    /// Writes, closes a copy of the descriptor or starts a program that does, and waits with the file open.
    private static func openWriter(
        _ folder: String, _ name: String, then steps: String
    ) throws -> ChildProcess.Settings {
        var settings = ChildProcess.Settings(
            try Shell.find("python3"),
            [
                "-c",
                """
                import os, subprocess, sys
                f = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
                os.write(f, b'a part')
                \(steps)
                print('written', flush=True)
                sys.stdin.read()
                """,
                folder + "/" + name,
            ])
        settings.input = .pipe
        return settings
    }

    @Test("a daemon's kill sends only completed writes")
    func killedDaemon() async throws {
        let mounts = try await CopyStage.start()
        let bob = try await mounts.mount("bob")
        let alice = try await mounts.mount("alice", quietTime: "1h")
        let writers = [
            "closed": "os.close(os.dup(f))",
            "written on": "os.close(os.dup(f)); os.write(f, b' and more')",
            "with a child": "subprocess.run(['true'], close_fds=False)",
        ]
        var running: [RunningProcess] = []
        for (name, steps) in writers {
            running.append(try await RunningProcess.start(Self.openWriter(mounts.toBob, name, then: steps)))
            try await running.last?.line("that it has written") { $0 == "written" }
        }
        // Killed as soon as the last close has returned.
        let names = (0..<40).map { "copy \($0)" }
        for (number, name) in names.enumerated() { try mounts.prepare(name, sample(1000, seed: number)) }
        #expect(try await mounts.copy("cp \"$SOURCE\"/* \"$FOLDER/\"").succeeded)
        alice.send(SIGKILL)
        try await alice.ending()
        for writer in running {
            writer.send(SIGKILL)
            try await writer.ending()
        }
        let again = try await mounts.mount("alice")
        try await mounts.waitForArrival(of: names + ["closed"])
        #expect(try await mounts.expectEqual(names))
        try await mounts.waitUntilQuiet()
        #expect(try mounts.arrived().filter { !$0.hasPrefix("zz") } == (names + ["closed"]).sorted())
        #expect(try mounts.folder.names(in: "a/.chatfs/recovered") == ["with a child", "written on"])
        #expect(try await again.terminate() == .code(0))
        try await bob.terminate()
    }
}
