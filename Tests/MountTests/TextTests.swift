import Glibc
import Posix
import TestSupport
import Testing

@Suite("Texts without a file", .serialized)
struct TextTests {
    private func send(_ text: String, _ mounts: TwoMounts, _ more: [String] = []) async throws {
        try await mounts.run(["send", "--text", text, "bob", "--profile", "alice"] + more)
    }

    @Test("texts appear in both read-only logs")
    func logs() async throws {
        let mounts = try await TwoMounts.start()
        try await send("first \"words\"\nof two lines", mounts)
        let log = mounts.path("bob/.chatfs/messages/alice.jsonl")
        try await wait(until: "bob has a log") { access(log, F_OK) == 0 }
        let tail = try await RunningProcess.start(
            ChildProcess.Settings(Shell.find("tail"), ["-n", "+1", "-f", log]))
        try await tail.line("the first text") { $0.contains(#""text":"first \"words\"\nof two lines""#) }
        // Standard input loses its final newline; -- and - keep their usual meanings.
        let piped = try await Shell.script(
            #"printf 'from a pipe\n' | "$CHATFS" send --text - bob --profile alice --data "$DATA""#,
            environment: [
                "CHATFS": ChatFSProcess.path, "DATA": mounts.data,
                "CREDENTIALS_DIRECTORY": ChatFSProcess.credentials,
            ])
        #expect(piped.succeeded, "\(piped.errors)")
        try await tail.line("the second text") { $0.contains(#""text":"from a pipe""#) }
        let sizes = try await Shell.run("stat", ["-c", "%s %a", log])
        let bytes = try mounts.read("bob/.chatfs/messages/alice.jsonl")
        #expect(sizes.output == "\(bytes.count) 400\n")
        let own = try mounts.read("alice/.chatfs/messages/bob.jsonl")
        #expect(String(decoding: own, as: UTF8.self).split(separator: "\n").count == 2)
        for command in ["echo x >>", "rm", "truncate -s 0"] {
            let refused = try await Shell.script("\(command) \"$LOG\"", environment: ["LOG": log])
            #expect(!refused.succeeded, "\(command)")
        }
        #expect(try mounts.read("bob/.chatfs/messages/alice.jsonl") == bytes)
        tail.send(SIGTERM)
    }

    /// A folder name of 252 bytes leaves no room for the ending of its log.
    @Test func logOfLongNameIsReadAndSearched() async throws {
        let mounts = try await TwoMounts.start(mounting: [])
        let name = String(repeating: "\u{20000}", count: 63)
        try await mounts.run(["contact", "rename", "bob", name, "--profile", "alice"])
        try await mounts.mount("alice")
        try await mounts.run(["send", "--text", "a long way", name, "--profile", "alice"])
        for command in [["read", name], ["find", "--text", "long"]] {
            try await wait(until: "\(command[0]) shows it") {
                let shown = try await ChatFSProcess.run(command + ["--mount", mounts.path("alice")])
                return shown.output.hasSuffix("you: a long way\n")
            }
        }
        #expect(try await mounts.leave("alice") == .code(0))
    }

    @Test("expired texts vanish from both logs")
    func disappearing() async throws {
        let mounts = try await TwoMounts.start()
        try await send("before", mounts)
        try await mounts.run(["chat", "ttl", "bob", "3s", "--profile", "alice"])
        try await send("words that go", mounts)
        try await mounts.run(["chat", "ttl", "bob", "off", "--profile", "alice"])
        try await send("after", mounts)
        for log in ["alice/.chatfs/messages/bob.jsonl", "bob/.chatfs/messages/alice.jsonl"] {
            let path = mounts.path(log)
            try await wait(until: "all texts are there") {
                (try? mounts.read(log)).map { String(decoding: $0, as: UTF8.self).contains("after") } ?? false
            }
            let open = try OpenFile(path, flags: O_RDONLY)
            let size = try open.size()
            try await wait(until: "the words are gone") {
                !String(decoding: try mounts.read(log), as: UTF8.self).contains("words that go")
            }
            // Open handles see the same log with the same length.
            let text = String(decoding: try open.readAll(limit: 1 << 20), as: UTF8.self)
            #expect(!text.contains("words that go") && text.contains("before") && text.contains("after"))
            #expect(text.contains(#"{"event":"disappeared","id":"#))
            #expect(try open.size() == size && text.utf8.count == Int(size))
        }
        for name in ["alice", "bob"] { #expect(try await mounts.leave(name) == .code(0)) }
    }

    @Test("impossible texts are refused with a sentence")
    func refusals() async throws {
        let mounts = try await TwoMounts.start(mounting: ["bob"])
        let long = String(repeating: "é", count: 15_001)
        for (arguments, sentence, code) in [
            (["--text", long, "bob"], "too long for one message", Int32(1)),
            (["--text", "", "bob"], "no text to send", 1),
            (["--text", "x", "nobody"], "nobody", 1),
            (["--text", "x", "Saved notes"], "This chat has no other members", 1),
            (["--text", "x", "file", "bob"], "--text sends no file", 64),
            (["bob"], "FILE is missing", 64),
        ] {
            let outcome = try await ChatFSProcess.run(
                ["send"] + arguments + ["--profile", "alice", "--data", mounts.data])
            #expect(outcome.ending == .code(code), "\(outcome.errors)")
            #expect(outcome.errors.contains(sentence), "\(outcome.errors)")
        }
        #expect(access(mounts.path("bob/.chatfs/messages/alice.jsonl"), F_OK) != 0)
        // The maximum length of a message.
        try await send(String(long.dropLast()), mounts)
        try await wait(until: "bob has it") {
            access(mounts.path("bob/.chatfs/messages/alice.jsonl"), F_OK) == 0
        }
    }

    @Test("repetition after an interruption sends once")
    func repeated() async throws {
        let mounts = try await TwoMounts.start()
        let daemon = try mounts.daemon("alice")
        let arguments = ["send", "--text", "once", "bob", "--profile", "alice", "--data", mounts.data]
        for _ in 0..<3 {
            daemon.send(SIGSTOP)
            let command = try await PendingConnections.wait { try await ChatFSProcess.start(arguments) }
            command.send(SIGINT)
            #expect(try await command.ending() == .code(130))
            daemon.send(SIGCONT)
        }
        try await mounts.run(["send", "--text", "once", "bob", "--profile", "alice"])
        try await send("end", mounts)
        let log = "bob/.chatfs/messages/alice.jsonl"
        try await wait(until: "the last one is there") {
            (try? mounts.read(log)).map { String(decoding: $0, as: UTF8.self).contains("\"end\"") } ?? false
        }
        let text = String(decoding: try mounts.read(log), as: UTF8.self)
        #expect(text.split(separator: "\n").count == 2, "\(text)")
    }

    @Test("repetition after a kill sends once")
    func killed() async throws {
        let mounts = try await TwoMounts.start(mounting: ["bob"])
        var repeated: Set<String> = []
        for isMounted in [false, true] {
            if isMounted { try await mounts.mount("alice") }
            for number in 0..<6 {
                let text = "\(isMounted ? "mounted" : "direct") \(number)"
                let arguments = ["send", "--text", text, "bob", "--profile", "alice"]
                let command = try await ChatFSProcess.start(arguments + ["--data", mounts.data])
                try await Task.sleep(for: .milliseconds(number * 25))
                command.send(SIGKILL)
                _ = try await command.ending()
                // Without a recorded request it had not begun or was complete; a name with a dot is still temporary.
                let noted = (try? mounts.folder.names(in: "data/profiles/1/unanswered")) ?? []
                guard noted.contains(where: { !$0.hasPrefix(".") }) else { continue }
                try await mounts.run(arguments)
                repeated.insert(text)
            }
        }
        try await send("end", mounts)
        let log = "bob/.chatfs/messages/alice.jsonl"
        try await wait(until: "the last one is there") {
            (try? mounts.read(log)).map { String(decoding: $0, as: UTF8.self).contains(#""text":"end""#) }
                ?? false
        }
        let lines = String(decoding: try mounts.read(log), as: UTF8.self).split(separator: "\n")
        for way in ["direct", "mounted"] {
            for number in 0..<6 {
                let count = lines.count { $0.hasSuffix(#""text":"\#(way) \#(number)"}"#) }
                #expect(
                    count <= 1 && (count == 1 || !repeated.contains("\(way) \(number)")),
                    "\(way) \(number): \(count)")
            }
        }
    }
}
