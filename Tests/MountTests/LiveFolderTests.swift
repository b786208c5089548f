import Glibc
import Posix
import TestSupport
import Testing

@Suite("Watched folders", .serialized)
struct LiveFolderTests {
    @Test(
        "watchers see arrival, size and deletion"
    )
    func comesAndGoes() async throws {
        let mounts = try await TwoMounts.start(mounting: ["bob"])
        try await mounts.mount("alice", ["--delete", "everyone", "--quiet-time", "0s"])
        let watch = try await FolderWatch.start(mounts.path("bob/alice"))
        try mounts.write(TwoMounts.bytes(1000), to: "alice/bob/small.txt")
        try mounts.write(TwoMounts.bytes(300_000), to: "alice/bob/large.bin")
        try await watch.waitFor("CREATE small.txt")
        try await watch.waitFor("CREATE large.bin")
        var status = stat()
        #expect(lstat(mounts.path("bob/alice/large.bin"), &status) == 0 && status.st_size == 300_000)
        #expect(try mounts.read("bob/alice/large.bin") == TwoMounts.bytes(300_000))
        #expect(try mounts.folder.names(in: "bob/alice").sorted() == ["large.bin", "small.txt"])

        // Lookups and open handles make no difference to watchers.
        let open = try OpenFile(mounts.path("bob/alice/small.txt"), flags: O_RDONLY)
        #expect(try open.read(count: 10, at: 0) == Array(TwoMounts.bytes(1000)[..<10]))
        try await mounts.waitForState("sent", of: "alice/bob/small.txt")
        #expect(unlink(mounts.path("alice/bob/small.txt")) == 0)
        try await watch.waitFor("DELETE small.txt")
        #expect(try mounts.folder.names(in: "bob/alice") == ["large.bin"])
        #expect(access(mounts.path("bob/alice/small.txt"), F_OK) != 0)
        #expect(try open.size() == 1000)
        #expect(try open.read(count: 100, at: 900) == Array(TwoMounts.bytes(1000)[900...]))
        #expect(watch.count("CREATE") == 2 && watch.count("DELETE") == 1, "\(watch.events)")
        for name in ["alice", "bob"] { #expect(try await mounts.leave(name) == .code(0)) }
    }

    @Test("arrivals change the folder's time")
    func folderTime() async throws {
        let mounts = try await TwoMounts.start()
        var before = stat()
        var after = stat()
        #expect(lstat(mounts.path("bob/alice"), &before) == 0)
        // Times have whole seconds, so wait for the next.
        try await Task.sleep(for: .milliseconds(1100))
        try await mounts.send([1], as: "a.txt")
        // The kernel is notified after the entry.
        try await wait(until: "the folder's time has moved") {
            lstat(mounts.path("bob/alice"), &after) == 0 && after.st_mtim.tv_sec > before.st_mtim.tv_sec
                && after.st_ctim.tv_sec > before.st_ctim.tv_sec
        }
    }

    @Test("watchers of the root see chats change")
    func chats() async throws {
        let mounts = try await TwoMounts.start()
        let watch = try await FolderWatch.start(mounts.path("alice"))
        try await mounts.send([1], as: "a.txt")
        try await mounts.run(["group", "create", "Club", "alice", "bob"])
        try await watch.waitFor("CREATE Club folder")
        #expect(try mounts.folder.names(in: "alice/Club").isEmpty)
        let alice = ["--profile", "alice"]
        try await mounts.run(["contact", "rename", "bob", "Bob from work"] + alice)
        try await watch.waitFor("MOVED_FROM bob folder")
        try await watch.waitFor("MOVED_TO Bob from work folder")
        #expect(try mounts.read("alice/Bob from work/a.txt") == [1])
        #expect(access(mounts.path("alice/bob"), F_OK) != 0)
        try mounts.write([2], to: "alice/Bob from work/b.txt")
        try await mounts.waitForFile("bob/alice/b.txt")
        try await mounts.run(["group", "delete", "Club", "--yes"] + alice)
        try await watch.waitFor("DELETE Club folder")
        #expect(
            try mounts.folder.names(in: "alice").sorted() == [
                ".chatfs", "Bob from work", "Links", "Saved notes",
            ])
        for name in ["alice", "bob"] { #expect(try await mounts.leave(name) == .code(0)) }
    }

    @Test("watchers see receiving and sending complete")
    func states() async throws {
        let mounts = try await TwoMounts.start()
        try await mounts.send(TwoMounts.bytes(9_000_000), as: "film.bin")
        let receiving = try await FolderWatch.start(mounts.path("bob/alice"))
        let sending = try await FolderWatch.start(mounts.path("alice/bob"))
        #expect(try mounts.read("bob/alice/film.bin") == TwoMounts.bytes(9_000_000))
        try await mounts.waitForState("stored", of: "bob/alice/film.bin")
        try await receiving.waitFor("ATTRIB film.bin")
        // State changes are reported, not each piece.
        #expect(receiving.events.allSatisfy { $0 == "ATTRIB film.bin" } && receiving.events.count < 10)
        try mounts.write([1], to: "alice/bob/note.txt")
        try await mounts.waitForState("sent", of: "alice/bob/note.txt")
        try await sending.waitFor("ATTRIB note.txt")
        #expect(sending.count("CREATE") == 1, "\(sending.events)")
    }

    @Test("lookups succeed while an event is raised")
    func lookedAtMeanwhile() async throws {
        let mounts = try await TwoMounts.start(mounting: ["bob"])
        try await mounts.mount("alice", ["--quiet-time", "0s"])
        let watch = try await FolderWatch.start(mounts.path("bob/alice"))
        // Looks up every name continuously and never misses an existing one.
        let script = """
            import os, sys
            folder, count = sys.argv[1], int(sys.argv[2])
            seen = set()
            print("looking", flush=True)
            while len(seen) < count:
                for name in [f"{i}.txt" for i in range(count)]:
                    try:
                        os.stat(f"{folder}/{name}")
                        seen.add(name)
                    except FileNotFoundError:
                        assert name not in seen, name
                for name in os.listdir(folder): seen.add(name)
            """
        let looker = try await RunningProcess.start(
            ChildProcess.Settings(Shell.find("python3"), ["-c", script, mounts.path("bob/alice"), "100"]))
        try await looker.line("that it looks") { $0 == "looking" }
        for number in 0..<100 { try mounts.write([1], to: "alice/bob/\(number).txt") }
        #expect(try await looker.ending() == .code(0), "\(looker.errors)")
        // A lookup may precede each event, which then is of another kind.
        try await wait(until: "all are told") {
            Set(watch.events.compactMap { $0.split(separator: " ").dropFirst().first }).count == 100
        }
    }

    @Test("notices continue under a frozen relay")
    func frozenRelay() async throws {
        let count = 20
        let mounts = try await TwoMounts.start(mounting: ["bob"])
        try await mounts.mount("alice", ["--delete", "everyone", "--quiet-time", "0s"])
        let names = (0..<count).map { "\($0).bin" }
        for name in names { try mounts.write(TwoMounts.bytes(300_000), to: "alice/bob/" + name) }
        for name in names { try await mounts.waitForState("sent", of: "alice/bob/" + name) }
        try await mounts.waitForFiles(names, in: "bob/alice")
        mounts.relay.send(SIGSTOP)
        defer { mounts.relay.send(SIGCONT) }
        let watch = try await FolderWatch.start(mounts.path("bob/alice"))
        let script = """
            import subprocess, sys
            folder = sys.argv[1]
            readers = [subprocess.Popen(["cat", f"{folder}/{i % 20}.bin"], stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL) for i in range(100)]
            print("reading", flush=True)
            for reader in readers: reader.wait()
            """
        let readers = try await RunningProcess.start(
            ChildProcess.Settings(Shell.find("python3"), ["-c", script, mounts.path("bob/alice")]))
        try await readers.line("that they read") { $0 == "reading" }
        try await mounts.waitForState("receiving", of: "bob/alice/19.bin")
        for name in names { #expect(unlink(mounts.path("alice/bob/" + name)) == 0) }
        for name in names { try await watch.waitFor("DELETE " + name) }
        #expect(try mounts.folder.names(in: "bob/alice").isEmpty)
        // Their file will never arrive.
        #expect(try await readers.ending() == .code(0))
        for name in ["alice", "bob"] { #expect(try await mounts.leave(name) == .code(0)) }
    }

    @Test(
        "covered mounts raise no events until uncovered",
        .enabled(if: geteuid() == 0, "only root can mount over it"))
    func covered() async throws {
        let mounts = try await TwoMounts.start()
        let watch = try await FolderWatch.start(mounts.path("bob/alice"))
        let cover = try await Shell.run("mount", ["-t", "tmpfs", "none", mounts.path("bob")])
        try #require(cover.succeeded, "\(cover.errors)")
        _ = try mounts.folder.makeFolder("bob/alice")
        try mounts.write([1], to: "alice/bob/a.txt")
        try await mounts.waitForState("sent", of: "alice/bob/a.txt")
        try await mounts.run(["group", "create", "Club", "alice", "bob"])
        try await mounts.waitForFile("alice/Club")
        #expect(try mounts.folder.names(in: "bob") == ["alice"])
        #expect(try mounts.folder.names(in: "bob/alice").isEmpty)
        // The daemon may be accessing the path, not knowing that it is covered.
        try await wait(until: "it is uncovered") { umount(mounts.path("bob")) == 0 }
        try await mounts.send([1], as: "b.txt")
        try await watch.waitFor("CREATE b.txt")
        #expect(try mounts.folder.names(in: "bob/alice").sorted() == ["a.txt", "b.txt"])
    }

    @Test("unmounting works while events are raised")
    func leaving() async throws {
        let mounts = try await TwoMounts.start(mounting: ["bob"])
        try await mounts.mount("alice", ["--quiet-time", "0s"])
        for way in [[], ["-z"]] {
            let watch = try await FolderWatch.start(mounts.path("bob/alice"))
            for number in 0..<40 { try mounts.write([1], to: "alice/bob/\(way.count) \(number).txt") }
            try await wait(until: "something arrives") { watch.count("CREATE") > 0 }
            try await wait(until: "it can be unmounted") {
                try await Shell.run("fusermount3", ["-u"] + way + [mounts.path("bob")]).succeeded
            }
            #expect(try await mounts.daemon("bob").ending() == .code(0))
            try await watch.waitFor("IGNORED ")
            try await mounts.mount("bob")
            #expect(try mounts.folder.names(in: "bob/alice").count >= 40)
        }
    }

    @Test("unwatched folders cause no work")
    func unwatched() async throws {
        let mounts = try await TwoMounts.start()
        try mounts.write([1], to: "alice/bob/a.txt")
        try await mounts.waitForState("sent", of: "alice/bob/a.txt")
        let bob = try mounts.daemon("bob").processIdentifier
        // The kernel does not know bob's folder.
        #expect(Self.children(of: bob).isEmpty)
        try await mounts.waitForFile("bob/alice/a.txt")
    }

    @Test("the event process ends when idle")
    func idle() async throws {
        let mounts = try await TwoMounts.start()
        let watch = try await FolderWatch.start(mounts.path("bob/alice"))
        try await mounts.send([1], as: "a.txt")
        try await watch.waitFor("CREATE a.txt")
        let bob = try mounts.daemon("bob").processIdentifier
        try await wait(until: "it has gone") { Self.children(of: bob).isEmpty }
        try await mounts.send([1], as: "b.txt")
        try await watch.waitFor("CREATE b.txt")
        // A killed process is replaced.
        for child in Self.children(of: bob) { kill(child, SIGKILL) }
        try await mounts.send([1], as: "c.txt")
        try await watch.waitFor("CREATE c.txt")
    }

    @Test("killing the daemon during events leaves nothing")
    func killed() async throws {
        let mounts = try await TwoMounts.start(mounting: ["bob"])
        try await mounts.mount("alice", ["--quiet-time", "0s"])
        for round in 0..<5 {
            let watch = try await FolderWatch.start(mounts.path("bob/alice"))
            for number in 0..<20 { try mounts.write([1], to: "alice/bob/\(round) \(number).txt") }
            try await wait(until: "something arrives") { watch.count("CREATE") > round }
            let daemon = try mounts.daemon("bob")
            daemon.send(SIGKILL)
            try await daemon.ending(within: .seconds(20))
            try await mounts.mount("bob")
        }
        #expect(try mounts.folder.names(in: "bob/alice").count == 100)
    }

    private static func children(of process: pid_t) -> [pid_t] {
        ProcessInformation.names(in: "/proc/\(process)/task").flatMap { thread -> [pid_t] in
            let bytes = ProcessInformation.bytes(of: "/proc/\(process)/task/\(thread)/children") ?? []
            return String(decoding: bytes, as: UTF8.self).split(separator: " ").compactMap { pid_t($0) }
        }
    }
}
