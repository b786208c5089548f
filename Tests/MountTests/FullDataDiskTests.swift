import Glibc
import Posix
import TestSupport
import Testing

/// A full data disk gives a sentence and loses nothing, and the next attempt works.
@Suite("A full data disk", .serialized)
struct FullDataDiskTests {
    /// Requires one line on standard error about the missing space.
    private func expectFull(
        _ outcome: Shell.Outcome, _ disk: SmallDisk, at location: SourceLocation = #_sourceLocation
    ) {
        #expect(outcome.ending == .code(1), "\(outcome.errors)", sourceLocation: location)
        let lines = outcome.errors.split(separator: "\n")
        #expect(lines.count == 1, "\(outcome.errors)", sourceLocation: location)
        let text = outcome.errors.lowercased()
        #expect(
            text.contains("full") || text.contains("space") || disk.isLimit && text.contains("large"),
            "\(outcome.errors)", sourceLocation: location)
    }

    private func tree(_ folder: TemporaryFolder, _ path: String) async throws -> String {
        // Journals exist only while a database is open.
        try await Shell.script(
            "cd '\(folder.path(path))' && find . -type f ! -name filler ! -name '*-wal' ! -name '*-shm' | sort"
        ).output
    }

    /// Runs a command with texts as descriptors from 3 on.
    private func run(
        _ disk: SmallDisk, _ folder: TemporaryFolder, _ words: String, handing files: [String]
    ) async throws -> Shell.Outcome {
        let redirections = files.enumerated().map { " \($0 + 3)<'\(folder.path($1))'" }.joined()
        let limit = disk.isLimit && disk.isFull ? "prlimit --fsize=4096: " : ""
        return try await Shell.script(
            "exec \(limit)\(ChatFSProcess.path) --quiet \(words)\(redirections) </dev/null",
            environment: ["CREDENTIALS_DIRECTORY": nil])
    }

    @Test("a failed encryption leaves plain data, then succeeds")
    func encrypting() async throws {
        let folder = try TemporaryFolder()
        let disk = try await SmallDisk(at: try folder.makeFolder("data"), size: "12m")
        let data = "--data '\(folder.path("data"))'"
        try folder.write(Array("a passphrase\n".utf8), to: "passphrase")
        for name in ["alice", "bob"] {
            let made = try await run(
                disk, folder, "profile create \(name) --no-encryption \(data)", handing: [])
            #expect(made.succeeded, "\(made.errors)")
        }
        #expect(try await run(disk, folder, "connect alice bob \(data)", handing: []).succeeded)
        for number in 0..<40 {
            let text = String(repeating: "text \(number) ", count: 500)
            let sent = try await run(
                disk, folder, "send --text '\(text)' bob --profile alice \(data)", handing: [])
            #expect(sent.succeeded, "\(sent.errors)")
        }
        // A limit must leave room for one database too few.
        let before = try await tree(folder, "data")
        for room in [0, 30_000, 120_000] {
            if room == 0 {
                try await disk.fill(for: [])
            } else if disk.isLimit {
                continue
            } else {
                try await disk.free()
                try await disk.fill(leaving: room)
            }
            let refused = try await run(
                disk, folder, "key set --new-passphrase-fd 3 \(data)", handing: ["passphrase"])
            expectFull(refused, disk)
            let after = try await tree(folder, "data")
            #expect(after == before, "\(after)")
            let status = try await run(disk, folder, "key status \(data)", handing: [])
            #expect(status.output.contains("not encrypted"), "\(status.output)\(status.errors)")
        }
        try await disk.free()
        let listed = try await run(disk, folder, "profile list \(data)", handing: [])
        #expect(listed.output == "alice\nbob\n", "\(listed.errors)")
        let set = try await run(
            disk, folder, "key set --new-passphrase-fd 3 \(data)", handing: ["passphrase"])
        #expect(set.succeeded, "\(set.errors)")
        let again = try await run(
            disk, folder, "verify --passphrase-fd 3 \(data)", handing: ["passphrase"])
        #expect(again.succeeded, "\(again.output)\(again.errors)")
        let found = try await Shell.script("grep -rlF 'text 39' '\(folder.path("data"))'")
        #expect(found.output == "")
    }

    @Test("a failed export or import leaves nothing")
    func archives() async throws {
        let folder = try TemporaryFolder()
        let mounts = try await TwoMounts.start(in: folder)
        let bytes = TwoMounts.bytes(3_000_000)
        try await mounts.send(bytes, as: "film.bin")
        #expect(try await ChatFSProcess.run(["hydrate", mounts.path("bob/alice/film.bin")]).succeeded)
        for name in ["alice", "bob"] { #expect(try await mounts.leave(name) == .code(0)) }
        try folder.write(Array("correct horse\n".utf8), to: "passphrase")
        let disk = try await SmallDisk(at: try folder.makeFolder("small"), size: "16m")
        func chatfs(_ words: String) async throws -> Shell.Outcome {
            let limit = disk.isLimit && disk.isFull ? "prlimit --fsize=65536: " : ""
            return try await Shell.script(
                "exec \(limit)\(ChatFSProcess.path) --quiet \(words) --archive-passphrase-fd 3 "
                    + "3<'\(folder.path("passphrase"))' </dev/null",
                environment: ["CREDENTIALS_DIRECTORY": ChatFSProcess.credentials])
        }
        let archive = folder.path("small/a.zip")
        let export = "export '\(archive)' --data '\(mounts.data)'"
        try await disk.fill(for: [])
        if !disk.isLimit { try await disk.fill(leaving: 1_000_000) }
        let inHome = try await tree(folder, "data")
        expectFull(try await chatfs(export), disk)
        #expect(try await tree(folder, "small") == "")
        #expect(try await tree(folder, "data") == inHome)
        try await disk.free()
        let exported = try await chatfs(export)
        #expect(exported.succeeded, "\(exported.errors)")

        // On a disk with room for the first half of the files.
        let importing = "import '\(archive)' --data '\(folder.path("small/home"))'"
        try await disk.fill(for: [])
        if !disk.isLimit { try await disk.fill(leaving: 2_500_000) }
        expectFull(try await chatfs(importing), disk)
        #expect(access(folder.path("small/home"), F_OK) != 0)
        try await disk.free()
        let imported = try await chatfs(importing)
        #expect(imported.succeeded, "\(imported.errors)")
        #expect(try folder.names(in: "small").filter { $0 != "filler" }.sorted() == ["a.zip", "home"])
        let verified = try await Shell.script(
            "exec \(ChatFSProcess.path) verify --passphrase-fd 3 --data '\(folder.path("small/home"))' "
                + "3<'\(folder.path("passphrase"))'", environment: ["CREDENTIALS_DIRECTORY": nil])
        #expect(verified.succeeded, "\(verified.output)\(verified.errors)")
    }

    @Test("a text without disk space is refused")
    func texts() async throws {
        let folder = try TemporaryFolder()
        let disk = try await SmallDisk(at: try folder.makeFolder("data"), size: "12m")
        let mounts = try await TwoMounts.start(in: folder)
        func send(_ text: String) async throws -> Shell.Outcome {
            try await ChatFSProcess.run(
                ["send", "--text", text, "bob", "--profile", "alice", "--data", mounts.data])
        }
        #expect(try await send("first").succeeded)
        let daemons = try ["alice", "bob"].map { try mounts.daemon($0).processIdentifier }
        try await disk.fill(for: daemons)
        var refused: [String] = []
        for number in 0..<30 {
            // Texts of a page each; some may fit into the database's free pages.
            let text = "\(number) " + String(repeating: "x", count: 9_000)
            let outcome = try await send(text)
            if outcome.succeeded { continue }
            expectFull(outcome, disk)
            refused.append("\(number) x")
        }
        #expect(!refused.isEmpty)
        #expect(daemons.allSatisfy { kill($0, 0) == 0 })
        // Existing texts stay readable.
        let log = "alice/.chatfs/messages/bob.jsonl"
        #expect(String(decoding: try mounts.read(log), as: UTF8.self).contains(#""text":"first""#))
        try await disk.free()
        let last = try await send("last")
        #expect(last.succeeded, "\(last.errors)")
        try await wait(until: "bob has the last one") {
            (try? mounts.read("bob/.chatfs/messages/alice.jsonl"))
                .map { String(decoding: $0, as: UTF8.self).contains(#""text":"last""#) } ?? false
        }
        for log in [log, "bob/.chatfs/messages/alice.jsonl"] {
            let text = String(decoding: try mounts.read(log), as: UTF8.self)
            for number in refused { #expect(!text.contains("\"text\":\"\(number)")) }
            #expect(text.split(separator: "\n").last?.contains("last") == true)
        }
    }

    @Test("undeliverable messages wait on their server")
    func receiving() async throws {
        let folder = try TemporaryFolder()
        let disk = try await SmallDisk(at: try folder.makeFolder("bob data"), size: "12m")
        let relay = try await ChatFSProcess.start(["relay", "--dir", folder.path("relay")])
        let files = try await relay.line("its address for files") { $0.hasPrefix("xftp://") }
        let messages = try await relay.line("its address for messages") { $0.hasPrefix("smp://") }
        let servers = ["--server", messages, "--relay", files]
        let (alice, bob) = (["--data", folder.path("alice data")], ["--data", folder.path("bob data")])
        let pair = try await ChatFSProcess.start(["pair", "--profile", "alice"] + alice + servers)
        let link = try await pair.line("a link") { $0.hasPrefix("https://") }
        let accepted = try await ChatFSProcess.run(
            ["accept", link, "--profile", "bob"] + bob + servers)
        #expect(accepted.succeeded, "\(accepted.errors)")
        #expect(try await pair.ending() == .code(0))
        let chats = try folder.makeFolder("Chats")
        let mount = try await ChatFSProcess.start(
            ["mount", chats, "--cache-dir", folder.path("cache")] + bob)
        try await wait(until: "bob's mount is there") { access(chats + "/.chatfs/status.json", F_OK) == 0 }
        func send(_ text: String) async throws {
            let sent = try await ChatFSProcess.run(["send", "--text", text, "bob"] + alice)
            #expect(sent.succeeded, "\(sent.errors)")
        }
        func log() -> String {
            (try? folder.read("Chats/.chatfs/messages/alice.jsonl")).map {
                String(decoding: $0, as: UTF8.self)
            } ?? ""
        }
        try await send("first")
        try await wait(until: "the first has come") { log().contains(#""text":"first""#) }
        try await disk.fill(for: [mount.processIdentifier])
        let texts = (0..<6).map { "\($0) " + String(repeating: "y", count: 9_000) }
        for text in texts { try await send(text) }
        // The server redelivers unacknowledged messages.
        try await Task.sleep(for: .seconds(3))
        #expect(kill(mount.processIdentifier, 0) == 0)
        try await disk.free()
        // Two places retry after at most a minute each.
        try await wait(until: "all have come", within: .seconds(300)) {
            let log = log()
            return texts.allSatisfy { log.contains(#""text":"\#($0)""#) }
        }
        // Each once and in order.
        let lines = log().split(separator: "\n").filter { $0.contains(#""event":"message""#) }
        #expect(lines.count == 7)
        for (line, text) in zip(lines.dropFirst(), texts) { #expect(line.contains(text)) }
        #expect(try await mount.terminate() == .code(0))
        #expect(try await relay.terminate() == .code(0))
    }
}
