import Glibc
import Posix
import TestSupport
import Testing

@Suite("Unmounting", .serialized)
struct LeavingTests {
    @Test("a second mount names the first one's process")
    func secondMount() async throws {
        let mounts = try await TwoMounts.start(mounting: ["alice"])
        for place in ["alice", "elsewhere"] {
            let second = try await ChatFSProcess.run(
                mounts.arguments(toMount: "alice", at: mounts.path(place)))
            #expect(second.ending == .code(1))
            #expect(second.errors.contains("\(try mounts.daemon("alice").processIdentifier)"))
            #expect(second.errors.contains(mounts.path("alice")))
            #expect(second.errors.split(separator: "\n").count == 1)
        }
        #expect(try await mounts.leave("alice") == .code(0))
    }

    @Test("only the mounting user can enter, and runs nothing")
    func options() async throws {
        let mounts = try await TwoMounts.start(mounting: ["alice"])
        let bytes = try #require(ProcessInformation.bytes(of: "/proc/self/mounts", limit: 1 << 20))
        let line = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
            .first { $0.contains(" \(mounts.path("alice")) ") }
        let options = try #require(line).split(separator: " ")[3].split(separator: ",")
        #expect(Set(["nosuid", "nodev", "noexec"]).isSubset(of: options), "\(options)")
        #expect(!options.contains("allow_other"))
        #expect(try await mounts.leave("alice") == .code(0))
    }

    @Test("INT, TERM and HUP unmount even if ignored")
    func signals() async throws {
        let mounts = try await TwoMounts.start(mounting: [])
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            for (ignored, blocked) in [([], []), ([signal], []), ([], [signal])] {
                try await mounts.mount("alice", ignoredSignals: ignored, blockedSignals: blocked)
                #expect(try await mounts.leave("alice", by: signal) == .code(0))
                #expect(try mounts.daemon("alice").errors == "")
                #expect(try MountTable.mounts(below: mounts.folder.path).isEmpty)
                #expect(try mounts.folder.names(in: "alice").isEmpty)
                #expect(try mounts.folder.names(in: "cache").isEmpty)
            }
        }
    }

    @Test("unmounting reports the number of unsent files")
    func waiting() async throws {
        let mounts = try await TwoMounts.start(mounting: [])
        try await mounts.run(["relay", "remove", "--profile", "alice", mounts.relayAddress])
        let words = "1 file is not sent yet"
        for leavesByCommand in [true, false] {
            try await mounts.mount("alice")
            // Too long for a message, and without a relay.
            if leavesByCommand { try mounts.write(TwoMounts.bytes(300_000), to: "alice/bob/film.bin") }
            try await mounts.waitForState("queued", of: "alice/bob/film.bin")
            if leavesByCommand {
                let unmount = try await ChatFSProcess.run(["unmount", mounts.path("alice")])
                #expect(unmount.succeeded && unmount.errors.contains(words), "\(unmount.errors)")
            } else {
                #expect(try await mounts.leave("alice") == .code(0))
            }
            #expect(try await mounts.daemon("alice").ending() == .code(0))
            #expect(try mounts.daemon("alice").errors.contains(words))
        }
    }

    @Test("fusermount3 -u defers sending to the next mount")
    func unmountedFromOutside() async throws {
        let mounts = try await TwoMounts.start()
        try mounts.write(Array("last words".utf8), to: "alice/bob/late.txt")
        let unmount = try await Shell.run("fusermount3", ["-u", mounts.path("alice")])
        #expect(unmount.succeeded, "\(unmount.errors)")
        #expect(try await mounts.daemon("alice").ending() == .code(0))
        try await mounts.waitForFile("bob/alice/late.txt")
        #expect(try mounts.read("bob/alice/late.txt") == Array("last words".utf8))
        try await mounts.mount("alice")
        #expect(try mounts.folder.names(in: "alice/bob") == ["late.txt"])
        #expect(try mounts.state("alice/bob/late.txt") == "sent")
    }

    @Test("kill -9 leaves nothing readable, remount works")
    func killed() async throws {
        let mounts = try await TwoMounts.start()
        let bytes = TwoMounts.bytes(2_000_000)
        try await mounts.send(bytes, as: "secret.bin")
        #expect(try mounts.read("bob/alice/secret.bin") == bytes)
        let open = try OpenFile(mounts.path("bob/alice/secret.bin"), flags: O_RDONLY)
        try mounts.daemon("bob").send(SIGKILL)
        #expect(try await mounts.daemon("bob").ending() == .signal(SIGKILL))
        #expect(errorCode { access(mounts.path("bob/alice"), F_OK) } == ENOTCONN)
        // Searches 64 bytes of the file in the cache and the data directory.
        let needle = Array(bytes[1_000_000..<1_000_064])
        for tree in ["cache", "data"] {
            let files = try await Shell.run("find", [mounts.path(tree), "-type", "f"])
            for path in files.output.split(separator: "\n") {
                let file = try OpenFile(String(path), flags: O_RDONLY)
                let found = try file.readAll(limit: 1 << 26)
                #expect(!Self.contains(found, needle), "\(path)")
            }
        }
        withExtendedLifetime(open) {}
        try await mounts.mount("bob")
        #expect(try mounts.read("bob/alice/secret.bin") == bytes)
        #expect(try MountTable.mounts(below: mounts.path("bob")).count == 1)
    }

    @Test("unfinished drafts are recovered after a kill")
    func recovered() async throws {
        let mounts = try await TwoMounts.start()
        let file = try OpenFile(mounts.path("alice/bob/half.txt"), flags: O_WRONLY | O_CREAT)
        try file.write(Array("half a thought".utf8), at: 0)
        try file.synchronise()
        try mounts.daemon("alice").send(SIGKILL)
        try await mounts.daemon("alice").ending()
        withExtendedLifetime(file) {}
        try await mounts.mount("alice")
        #expect(try mounts.read("alice/.chatfs/recovered/half.txt") == Array("half a thought".utf8))
        #expect(try mounts.state("alice/.chatfs/recovered/half.txt") == "recovered")
        #expect(try mounts.folder.names(in: "alice/bob").isEmpty)
        #expect(unlink(mounts.path("alice/.chatfs/recovered/half.txt")) == 0)
        #expect(try mounts.folder.names(in: "alice/.chatfs/recovered").isEmpty)
        #expect(try mounts.folder.names(in: "bob/alice").isEmpty)
    }

    @Test("a busy mount can be ended")
    func busy() async throws {
        let mounts = try await TwoMounts.start(mounting: ["alice"])
        try mounts.write([1, 2, 3], to: "alice/bob/kept.part")
        let open = try OpenFile(mounts.path("alice/bob/kept.part"), flags: O_RDONLY)
        #expect(try await mounts.leave("alice") == .code(0))
        #expect(try MountTable.mounts(below: mounts.folder.path).isEmpty)
        withExtendedLifetime(open) {}
        try await mounts.mount("alice")
        #expect(try mounts.read("alice/bob/kept.part") == [1, 2, 3])
    }

    @Test("--background without a log leaves no mount")
    func backgroundWithoutLog() async throws {
        guard access("/run/systemd/journal/socket", F_OK) != 0 else { return }
        let mounts = try await TwoMounts.start(mounting: ["alice"])
        #expect(try await mounts.leave("alice") == .code(0))
        let profiles = try mounts.folder.names(in: "data/profiles")
        for name in profiles { _ = try mounts.folder.makeFolder("data/profiles/\(name)/log") }
        let failed = try await ChatFSProcess.run(mounts.arguments(toMount: "alice", ["--background"]))
        #expect(failed.ending == .code(1) && !failed.errors.isEmpty, "\(failed.errors)")
        #expect(try MountTable.mounts(below: mounts.folder.path).isEmpty)
        for name in profiles { rmdir(mounts.path("data/profiles/\(name)/log")) }
        try await mounts.mount("alice")
        #expect(try await mounts.leave("alice") == .code(0))
    }

    @Test("--background returns when ready or with the error")
    func background() async throws {
        let mounts = try await TwoMounts.start(mounting: [])
        let started = try await ChatFSProcess.run(mounts.arguments(toMount: "alice", ["--background"]))
        #expect(started.succeeded, "\(started.errors)")
        #expect(try mounts.folder.names(in: "alice") == [".chatfs", "Links", "Saved notes", "bob"])
        let second = try await ChatFSProcess.run(mounts.arguments(toMount: "alice", ["--background"]))
        #expect(second.ending == .code(1))
        #expect(second.errors.contains("in use"))
        let unmount = try await Shell.run("fusermount3", ["-u", mounts.path("alice")])
        #expect(unmount.succeeded, "\(unmount.errors)")
        // Waits for the first mount's end.
        try await mounts.mount("alice")
        #expect(try await mounts.leave("alice") == .code(0))
    }

    @Test("a new mount waits for a leaving one")
    func onTheHeels() async throws {
        let mounts = try await TwoMounts.start(mounting: ["alice"])
        // An open draft keeps the first mount busy for a while.
        let writer = try OpenFile(mounts.path("alice/bob/long.txt"), flags: O_WRONLY | O_CREAT)
        let first = try mounts.daemon("alice")
        first.send(SIGTERM)
        // Reported as soon as it no longer serves its profile.
        try await wait(until: "it is leaving") {
            let lock = try mounts.folder.read("data/profiles/1/lock")
            return String(decoding: lock, as: UTF8.self).contains("finishing")
        }
        let second = try await ChatFSProcess.start(
            mounts.arguments(toMount: "alice", at: mounts.path("next")))
        try await second.line("that it is mounted") { $0.contains("is mounted at") }
        #expect(try await first.ending() == .code(0))
        withExtendedLifetime(writer) {}
        #expect(try await second.terminate() == .code(0))
    }

    @Test("invalid mountpoints are refused")
    func mountpoints() async throws {
        let mounts = try await TwoMounts.start(mounting: ["alice"])
        _ = try mounts.folder.makeFolder("full")
        try mounts.folder.write([1], to: "full/mine.txt")
        try mounts.folder.write([1], to: "file")
        for place in ["full", "file", "alice"] {
            let outcome = try await ChatFSProcess.run(
                mounts.arguments(toMount: "bob", at: mounts.path(place)))
            #expect(outcome.ending == .code(1))
            #expect(outcome.errors.split(separator: "\n").count == 1, "\(outcome.errors)")
        }
        #expect(try mounts.folder.read("full/mine.txt") == [1])
    }

    private static func contains(_ bytes: [UInt8], _ needle: [UInt8]) -> Bool {
        bytes.indices.contains { start in
            bytes[start] == needle[0] && bytes[start...].starts(with: needle)
        }
    }
}
