import Glibc
import Posix
import TestSupport
import Testing

@Suite("A full disk", .serialized)
struct FullDiskTests {
    @Test("reads go through memory without cache space")
    func cache() async throws {
        let folder = try TemporaryFolder()
        let disk = try await SmallDisk(at: try folder.makeFolder("cache"), size: "8m")
        let mounts = try await TwoMounts.start(in: folder, mounting: ["alice"])
        // Without a minimum, the cache fills the disk.
        try await mounts.mount("bob", ["--cache-min-free", "0"])
        let large = TwoMounts.bytes(6_000_000)
        let small = TwoMounts.bytes(400_000, seed: 2)
        try await mounts.send(small, as: "small.bin")
        try await mounts.send(large, as: "large.bin")
        #expect(try mounts.read("bob/alice/small.bin") == small)
        try await disk.fill(for: [mounts.daemon("bob").processIdentifier])
        if !disk.isLimit {
            #expect(try mounts.read("bob/alice/large.bin") == large)
            try await mounts.waitForState("stored", of: "bob/alice/large.bin")
        }
        #expect(try mounts.read("bob/alice/small.bin") == small)
        #expect(try mounts.folder.names(in: "bob/alice") == ["large.bin", "small.bin"])
        try await disk.free()
        try await wait(until: "there is room") { (try? mounts.read("bob/alice/large.bin")) == large }
        for name in ["alice", "bob"] { #expect(try await mounts.leave(name) == .code(0)) }
    }

    @Test("an unstorable chunk stays in memory")
    func fullWhileWriting() async throws {
        let folder = try TemporaryFolder()
        let disk = try await SmallDisk(at: try folder.makeFolder("data"), size: "48m")
        // A limit on file sizes affects databases, too.
        guard !disk.isLimit else { return }
        let mounts = try await TwoMounts.start(in: folder, mounting: ["alice"])
        try await mounts.mount("bob", ["--cache-min-free", "0"])
        // Three chunks of 4 MiB.
        let bytes = TwoMounts.bytes(12_580_000)
        try await mounts.send(bytes, as: "film.bin")
        // Room for a chunk and a half.
        try await disk.fill(leaving: 6 << 20)
        let file = try OpenFile(mounts.path("bob/alice/film.bin"), flags: O_RDONLY)
        func reads(_ place: Int) throws -> Bool {
            try file.read(count: 4096, at: UInt64(place)) == Array(bytes[place..<place + 4096])
        }
        #expect(try reads(9_000_000))
        // The rest is local and needs no relay.
        mounts.relay.send(SIGSTOP)
        defer { mounts.relay.send(SIGCONT) }
        for place in [10_000_000, 11_500_000, 12_500_000] { #expect(try reads(place)) }
        mounts.relay.send(SIGCONT)
        #expect(try mounts.read("bob/alice/film.bin") == bytes)
        try await wait(until: "it says that the disk is full") {
            let says = try ExtendedAttribute.text("user.chatfs.error", of: mounts.path("bob/alice/film.bin"))
            return says?.contains("disk is full") == true
        }
        try await disk.free()
        #expect(try mounts.read("bob/alice/film.bin") == bytes)
        try await mounts.waitForState("stored", of: "bob/alice/film.bin")
        for name in ["alice", "bob"] { #expect(try await mounts.leave(name) == .code(0)) }
    }

    @Test("nothing is lost or sent in part")
    func data() async throws {
        let folder = try TemporaryFolder()
        let disk = try await SmallDisk(at: try folder.makeFolder("data"), size: "32m")
        let mounts = try await TwoMounts.start(in: folder)
        let (alice, bob) = (try mounts.daemon("alice"), try mounts.daemon("bob"))
        let earlier = TwoMounts.bytes(700_000)
        try await mounts.send(earlier, as: "earlier.bin")
        let waiting = TwoMounts.bytes(300_000, seed: 3)
        try mounts.write(waiting, to: "alice/bob/waiting.part")

        // With room for the beginning only, the draft stays with its reason.
        try await disk.limit(to: 3_000_000, for: [alice.processIdentifier])
        let cut = try await Shell.script(
            "head -c 40000000 /dev/zero > alice/bob/cut.bin", folder: folder.path)
        #expect(!cut.succeeded)
        #expect(try OpenFile(mounts.path("alice/bob/cut.bin"), flags: O_RDONLY).size() > 1_000_000)
        try await mounts.send([1], as: "later.txt")
        #expect(try mounts.state("alice/bob/cut.bin") == "draft")
        let cutSays = try ExtendedAttribute.text("user.chatfs.error", of: mounts.path("alice/bob/cut.bin"))
        #expect(cutSays?.isEmpty == false)
        #expect(unlink(mounts.path("alice/bob/cut.bin")) == 0)

        try await disk.fill(for: [alice.processIdentifier, bob.processIdentifier])
        // The writing program gets an error, and the partial file is not sent.
        let source = try folder.write(TwoMounts.bytes(900_000, seed: 4), to: "half.bin")
        let copied = try await Shell.run("cp", [source, mounts.path("alice/bob/")])
        #expect(copied.ending == .code(1))
        #expect(
            copied.errors.contains("No space left") || disk.isLimit && copied.errors.contains("too large"),
            "\(copied.errors)")
        // The command prints one line and exits with 1.
        let sent = try await disk.run(
            ["send", source, "bob", "--profile", "alice", "--data", mounts.data])
        #expect(sent.ending == .code(1))
        #expect(sent.errors.split(separator: "\n").count == 1 && sent.output.isEmpty, "\(sent.errors)")
        // A complete file waits for room.
        #expect(
            rename(mounts.path("alice/bob/waiting.part"), mounts.path("alice/bob/waiting.bin")) == 0
                || errno == ENOSPC)
        // An unstorable file is read from the cache. A limit on sizes affects both.
        if !disk.isLimit { #expect(try mounts.read("bob/alice/earlier.bin") == earlier) }
        #expect(alice.isRunning && bob.isRunning)

        try await disk.free()
        if access(mounts.path("alice/bob/waiting.part"), F_OK) == 0 {
            #expect(
                rename(mounts.path("alice/bob/waiting.part"), mounts.path("alice/bob/waiting.bin")) == 0)
        }
        try await mounts.waitForFile("bob/alice/waiting.bin")
        #expect(try mounts.read("bob/alice/waiting.bin") == waiting)
        #expect(try mounts.read("bob/alice/earlier.bin") == earlier)
        if access(mounts.path("alice/bob/half.bin"), F_OK) == 0 {
            #expect(try mounts.state("alice/bob/half.bin") == "draft")
            let says = try ExtendedAttribute.text(
                "user.chatfs.error", of: mounts.path("alice/bob/half.bin"))
            #expect(says?.isEmpty == false)
        }
        // Rewritten, it is sent.
        let again = try await Shell.run("cp", [source, mounts.path("alice/bob/")])
        #expect(again.succeeded, "\(again.errors)")
        try await mounts.waitForFile("bob/alice/half.bin")
        #expect(try mounts.read("bob/alice/half.bin") == TwoMounts.bytes(900_000, seed: 4))
        #expect(
            try mounts.folder.names(in: "bob/alice") == [
                "earlier.bin", "half.bin", "later.txt", "waiting.bin",
            ])
        for name in ["alice", "bob"] { #expect(try await mounts.leave(name) == .code(0)) }
        // The next mount finds everything.
        for name in ["alice", "bob"] { try await mounts.mount(name) }
        #expect(try mounts.read("bob/alice/earlier.bin") == earlier)
        #expect(try mounts.read("alice/bob/waiting.bin") == waiting)
    }

    @Test("failed drafts can be removed")
    func removal() async throws {
        let folder = try TemporaryFolder()
        let disk = try await SmallDisk(at: try folder.makeFolder("data"), size: "16m")
        guard !disk.isLimit else { return }
        let mounts = try await TwoMounts.start(in: folder)
        let alice = try mounts.daemon("alice").processIdentifier
        let names = (0..<20).map { "failed \($0).bin" }
        for name in names { try mounts.folder.write(TwoMounts.bytes(1000), to: "alice/bob/\(name).part") }
        try await disk.fill(for: [alice])
        let mountpoint = mounts.path("alice")
        let status = try await ChatFSProcess.run(["status", mountpoint])
        #expect(status.output.contains("is full ("), "\(status.output)")
        let doctor = try await ChatFSProcess.run(["doctor", "--data", mounts.data])
        #expect(
            doctor.output.contains("is full (") || doctor.errors.contains("is full ("), "\(doctor.output)")
        // A failed file, and small ones whose space does not suffice.
        let source = try folder.write(TwoMounts.bytes(900_000, seed: 4), to: "half.bin")
        let copied = try await Shell.run("cp", [source, mounts.path("alice/bob/")])
        #expect(copied.ending == .code(1))
        for name in (try mounts.folder.names(in: "alice/bob")).filter({
            $0 == "half.bin" || $0.hasPrefix("failed")
        }) {
            #expect(unlink(mounts.path("alice/bob/" + name)) == 0, "\(name): \(errno)")
            // Other files take the freed space.
            try await disk.fill(for: [alice])
        }
        #expect(try mounts.folder.names(in: "alice/bob").filter { $0.hasPrefix("failed") } == [])
        try await disk.free()
        let after = try await ChatFSProcess.run(["status", mountpoint])
        #expect(!after.output.contains("is full ("), "\(after.output)")
        for name in ["alice", "bob"] { #expect(try await mounts.leave(name) == .code(0)) }
    }

    @Test("stored files are deleted and freed")
    func freeing() async throws {
        let folder = try TemporaryFolder()
        let disk = try await SmallDisk(at: try folder.makeFolder("data"), size: "24m")
        guard !disk.isLimit else { return }
        let mounts = try await TwoMounts.start(in: folder, mounting: ["alice"])
        try await mounts.mount("bob", ["--delete", "self"])
        let names = (0..<4).map { "stored \($0).bin" }
        let bytes = TwoMounts.bytes(300_000)
        for name in names {
            try await mounts.send(bytes, as: name)
            #expect(try mounts.read("bob/alice/" + name) == bytes)
            try await mounts.waitForState("stored", of: "bob/alice/" + name)
        }
        try await disk.fill(for: [])
        #expect(unlink(mounts.path("bob/alice/" + names[0])) == 0, "\(errno)")
        // Other files take the freed space.
        try await disk.fill(for: [])
        let deleted = try await ChatFSProcess.run(["delete", mounts.path("bob/alice/" + names[1]), "--yes"])
        #expect(deleted.succeeded, "\(deleted.errors)")
        try await disk.fill(for: [])
        #expect(try await mounts.leave("bob") == .code(0))
        let freed = try await ChatFSProcess.run(
            ["storage", "free", "--chat", "alice", "--data", mounts.data, "--profile", "bob"])
        #expect(freed.succeeded && freed.errors.contains("2 local copies removed"), "\(freed.errors)")
        try await disk.free()
        try await mounts.mount("bob")
        #expect(try mounts.folder.names(in: "bob/alice") == Array(names[2...]))
        for name in names[2...] { #expect(try mounts.read("bob/alice/" + name) == bytes) }
    }

    @Test("a long draft waits for free space")
    func following() async throws {
        let folder = try TemporaryFolder()
        let disk = try await SmallDisk(at: try folder.makeFolder("data"), size: "96m")
        let mounts = try await TwoMounts.start(in: folder)
        let alice = try mounts.daemon("alice").processIdentifier
        let whole = TwoMounts.bytes(9_000_000, seed: 5)
        func write(_ range: Range<Int>, to file: OpenFile) throws {
            for start in stride(from: range.lowerBound, to: range.upperBound, by: 500_000) {
                let end = min(start + 500_000, range.upperBound)
                try file.write(Array(whole[start..<end]), at: UInt64(start))
            }
        }

        // The file is written; only its copy lacks room.
        var file: OpenFile? = try mounts.create("alice/bob/closed.bin")
        try file.map { try write(0..<whole.count, to: $0) }
        try await disk.fill(for: [alice])
        file = nil
        try await wait(until: "it says why it waits, or is through") {
            let says = try ExtendedAttribute.text(
                "user.chatfs.error", of: mounts.path("alice/bob/closed.bin"))
            return says?.isEmpty == false || access(mounts.path("bob/alice/closed.bin"), F_OK) == 0
        }
        try await disk.free()

        // The writer fails on the full disk and starts again later.
        file = try mounts.create("alice/bob/anew.bin")
        try file.map { try write(0..<6_000_000, to: $0) }
        try await disk.fill(for: [alice])
        #expect(throws: SystemError.self) { try file.map { try write(6_000_000..<whole.count, to: $0) } }
        try await disk.free()
        // Continuing leaves a gap that only a truncation to zero closes.
        try file.map { try write(8_000_000..<whole.count, to: $0) }
        file = nil
        try await wait(until: "it says that it is incomplete") {
            try ExtendedAttribute.text("user.chatfs.error", of: mounts.path("alice/bob/anew.bin"))?
                .contains("incomplete") == true
        }
        file = try OpenFile(mounts.path("alice/bob/anew.bin"), flags: O_WRONLY | O_TRUNC)
        try file.map { try write(0..<whole.count, to: $0) }
        file = nil

        for name in ["closed.bin", "anew.bin"] {
            try await mounts.waitForState("sent", of: "alice/bob/" + name)
            try await mounts.waitForFile("bob/alice/" + name)
            #expect(try mounts.read("bob/alice/" + name) == whole, "\(name) is another")
        }
        #expect(try mounts.folder.names(in: "bob/alice") == ["anew.bin", "closed.bin"])
        for name in ["alice", "bob"] { #expect(try await mounts.leave(name) == .code(0)) }
        for profile in try mounts.folder.names(in: "data/profiles") {
            let staging = "data/profiles/\(profile)/staging"
            #expect(try mounts.folder.names(in: staging) == ["received", "tags"])
            #expect(try mounts.folder.names(in: staging + "/received") == [])
        }
    }

    @Test("each command fails with one line")
    func commands() async throws {
        let folder = try TemporaryFolder()
        let disk = try await SmallDisk(at: try folder.makeFolder("data"), size: "8m")
        let mounts = try await TwoMounts.start(in: folder, mounting: [])
        let source = try folder.write(TwoMounts.bytes(100_000), to: "file.bin")
        try await disk.fill(for: [])
        for arguments in [
            ["send", source, "bob", "--profile", "alice"],
            ["profile", "create", String(repeating: "c", count: 60)],
        ] {
            let outcome = try await disk.run(arguments + ["--data", mounts.data])
            // A short row may fit into the database's free pages.
            if arguments[0] == "profile", outcome.succeeded { continue }
            #expect(outcome.ending == .code(1), "\(arguments)")
            #expect(outcome.errors.split(separator: "\n").count == 1, "\(outcome.errors)")
            #expect(outcome.errors.lowercased().contains("full") || disk.isLimit, "\(outcome.errors)")
        }
        let mounted = try await disk.run([
            "mount", mounts.path("alice"), "--profile", "alice", "--background",
            "--data", mounts.data, "--cache-dir", mounts.path("cache"),
        ])
        if mounted.succeeded {
            let unmounted = try await ChatFSProcess.run(["unmount", mounts.path("alice")])
            #expect(unmounted.succeeded, "\(unmounted.errors)")
        } else {
            #expect(mounted.ending == .code(1))
            #expect(mounted.errors.split(separator: "\n").count == 1, "\(mounted.errors)")
        }
        try await disk.free()
        try await mounts.mount("alice")
        try await mounts.mount("bob")
        try await mounts.send(TwoMounts.bytes(1000), as: "after.bin")
        #expect(try mounts.folder.names(in: "bob/alice") == ["after.bin"])
    }
}
