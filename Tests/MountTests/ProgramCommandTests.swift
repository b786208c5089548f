import FoundationEssentials
import Glibc
import Posix
import TestSupport
import Testing

@Suite("Commands for programs and scripts", .serialized)
struct ProgramCommandTests {
    private struct Item: Decodable {
        var name: String
        var path: String
        var state: String
        var size: UInt64
        var sender: String?
        var sha256: String?
    }

    private func lines(_ arguments: [String]) async throws -> [String] {
        let outcome = try await ChatFSProcess.run(arguments)
        #expect(outcome.succeeded, "\(arguments): \(outcome.errors)")
        return outcome.output.split(separator: "\n").map(String.init)
    }

    private func items(_ arguments: [String]) async throws -> [Item] {
        try await lines(arguments + ["--json"]).map {
            try JSONDecoder().decode(Item.self, from: Data($0.utf8))
        }
    }

    @Test("chats, ls and find fetch nothing")
    func looking() async throws {
        let mounts = try await TwoMounts.start()
        try await mounts.send(TwoMounts.bytes(400_000), as: "large report.pdf")
        try await mounts.send(TwoMounts.bytes(300_000, seed: 2), as: "Photo.JPG")
        try await mounts.send(Array("a word".utf8), as: "note.txt")
        let bob = mounts.path("bob")
        #expect(try await lines(["chats", bob]).contains { $0.contains("  alice  (@") })
        #expect(try await lines(["chats", bob, "--json"]).allSatisfy { $0.contains("\"folder\":") })
        let all = try await items(["ls", bob])
        #expect(Set(all.map(\.path)) == ["alice/large report.pdf", "alice/Photo.JPG", "alice/note.txt"])
        #expect(all.allSatisfy { $0.sender == "alice" })
        #expect(try await items(["ls", bob + "/alice/note.txt"]).map(\.size) == [6])
        #expect(
            try await Set(items(["ls", bob, "--state", "remote"]).map(\.name)) == [
                "large report.pdf", "Photo.JPG",
            ])
        #expect(try await lines(["find", "*.jpg", "--in", bob]) == [bob + "/alice/Photo.JPG"])
        #expect(
            try await lines(["find", "REPORT", "--in", bob + "/alice"]) == [bob + "/alice/large report.pdf"])
        #expect(try await lines(["find", "--in", bob, "--larger", "300000"]).count == 1)
        #expect(try await lines(["find", "--in", bob, "--smaller", "300000"]).count == 1)
        #expect(try await lines(["find", "--in", bob, "--from", "carol"]).isEmpty)
        let ended = try await ChatFSProcess.run(["find", "--in", bob, "--print0", "--state", "stored"])
        #expect(ended.output == bob + "/alice/note.txt\0")
        #expect(try mounts.state("bob/alice/Photo.JPG") == "remote", "looking fetches nothing")
        for (command, word) in [
            (["ls", bob + "/alice/none"], "No such file"),
            (["ls", bob + "/carol"], "There is no chat carol"),
            (["ls", bob + "/.chatfs"], "ls(1)"), (["ls", bob + "/.chatfs/recovered"], "ls(1)"),
            (["hydrate", bob + "/alice/none"], "/alice/none: No such file or directory.\n"),
            (["retry", bob + "/alice/note.txt", "--yes"], "note.txt: Only failed"),
            (["ls", "/"], "not on a mount"), (["ls", bob, "--state", "fine"], "expected"),
        ] {
            let refused = try await ChatFSProcess.run(command)
            #expect(!refused.succeeded && refused.errors.contains(word), "\(command): \(refused.errors)")
            #expect(refused.ending == .code(word == "expected" ? 64 : 1), "\(command): \(refused.ending)")
        }
        let script = """
            import os, subprocess, sys
            ends = os.pipe()
            os.close(ends[0])
            sys.exit(subprocess.run(sys.argv[1:], stdout=ends[1]).returncode % 256)
            """
        let gone = try await Shell.run("python3", ["-c", script, ChatFSProcess.path, "ls", bob])
        #expect(gone.ending == .code(0) && gone.errors == "", "\(gone.errors)")
    }

    private func sum(_ path: String) async throws -> String {
        String(try await Shell.run("sha256sum", [path]).output.prefix(64))
    }

    @Test("ls --hash computes and remembers local digests")
    func hashes() async throws {
        let mounts = try await TwoMounts.start()
        try await mounts.send(TwoMounts.bytes(3_000_000), as: "large.bin")
        try await mounts.send(TwoMounts.bytes(400_000, seed: 2), as: "there.bin")
        try await mounts.send(Array("a word".utf8), as: "note.txt")
        try mounts.folder.write(TwoMounts.bytes(3_000_000), to: "plain")
        let (bob, alice) = (mounts.path("bob"), mounts.path("alice"))
        #expect(try await items(["ls", bob]).allSatisfy { $0.sha256 == nil }, "nobody has asked")
        let large = try await sum(mounts.path("plain"))
        let sent = try await items(["ls", alice, "--hash"])
        #expect(sent.first { $0.name == "large.bin" }?.sha256 == large)
        let some = try await items(["ls", bob, "--hash"])
        #expect(Set(some.filter { $0.sha256 != nil }.map(\.name)) == ["note.txt"])
        #expect(try mounts.state("bob/alice/large.bin") == "remote", "nothing was fetched")
        #expect(try mounts.read("bob/alice/there.bin") == TwoMounts.bytes(400_000, seed: 2))
        try await mounts.waitForState("stored", of: "bob/alice/there.bin")
        let one = try await items(["ls", bob + "/alice/there.bin", "--hash"])
        #expect(try await one.map(\.sha256) == [sum(bob + "/alice/there.bin")])
        // Remembered, also by the next mount and without --hash.
        #expect(try await mounts.leave("bob") == .code(0))
        try await mounts.mount("bob")
        let known = try await items(["ls", bob])
        #expect(Set(known.filter { $0.sha256 != nil }.map(\.name)) == ["note.txt", "there.bin"])
        #expect(known.first { $0.name == "there.bin" }?.sha256 == one.first?.sha256)
        let text = try await lines(["ls", bob, "--hash"])
        #expect(
            text.contains {
                $0.hasPrefix(String(repeating: "-", count: 64)) && $0.hasSuffix("alice/large.bin")
            })
    }

    @Test("events reports changes until Ctrl-C or unmount")
    func events() async throws {
        let mounts = try await TwoMounts.start()
        let bob = mounts.path("bob")
        let events = try await ChatFSProcess.start(["events", bob, "--json", "--verbose"])
        let plain = try await ChatFSProcess.start(["events", bob, "--verbose"])
        for process in [events, plain] {
            try await wait(until: "it listens") { process.errors == "chatfs: listening\n" }
        }
        try await mounts.send(TwoMounts.bytes(400_000), as: "report.pdf")
        try await events.line("that it came") { line in
            line.contains("\"event\":\"item_appeared\"") && line.contains("\"path\":\"alice/report.pdf\"")
        }
        try await plain.line("that it came") { $0.hasPrefix("new ") && $0.hasSuffix("alice/report.pdf") }
        _ = try mounts.read("bob/alice/report.pdf")
        try await events.line("that it is here") { line in
            line.contains("\"event\":\"item_changed\"") && line.contains("\"state\":\"stored\"")
        }
        plain.send(SIGINT)
        #expect(try await plain.ending() == .code(130))
        #expect(try await mounts.leave("bob") == .code(0))
        #expect(try await events.ending() == .code(0))
    }

    @Test("events --exec runs once per arrival")
    func arrivals() async throws {
        let mounts = try await TwoMounts.start()
        let log = mounts.path("arrivals")
        let program = try mounts.folder.write(
            Array(
                """
                #!/bin/sh
                printf '%s|%s|%s|%s|%s|%s\\n' "$CHATFS_CHAT" "$CHATFS_NAME" "$CHATFS_SENDER" \\
                    "$CHATFS_SIZE" "$CHATFS_TYPE" "$CHATFS_PATH" >> "\(log)"
                """.utf8), to: "program")
        #expect(chmod(program, 0o700) == 0)
        let bob = mounts.path("bob")
        let events = try await ChatFSProcess.start(["events", bob, "--verbose", "--exec", program])
        try await wait(until: "it listens") { events.errors.contains("listening") }
        try mounts.write([1, 2, 3], to: "bob/alice/mine.bin")
        let hostile = "$(touch x); `id` 'a \"b.txt"
        try await mounts.send(Array("one".utf8), as: hostile)
        try await mounts.send(Array("two".utf8), as: "two.txt")
        do {
            try await wait(until: "both were told") {
                (try? mounts.folder.read("arrivals").count { $0 == UInt8(ascii: "\n") }) == 2
            }
        } catch {
            Issue.record(
                "\((try? mounts.folder.read("arrivals")).map { String(decoding: $0, as: UTF8.self) } ?? "")")
            Issue.record("\(events.output)\(events.errors)")
            throw error
        }
        #expect(
            String(decoding: try mounts.folder.read("arrivals"), as: UTF8.self) == """
                alice|\(hostile)|alice|3|text/plain|\(bob)/alice/\(hostile)
                alice|two.txt|alice|3|text/plain|\(bob)/alice/two.txt

                """)
        events.send(SIGTERM)
        #expect(try await events.ending() == .code(143))
    }

    @Test("status --watch prints changes only")
    func watching() async throws {
        let mounts = try await TwoMounts.start()
        let watch = try await ChatFSProcess.start(["status", "--watch", "--json", mounts.path("bob")])
        try await watch.line("how it is") { $0.hasPrefix("{") && $0.contains("\"entries\":0") }
        try mounts.write([1, 2, 3], to: "alice/bob/a.txt")
        try await watch.line("what came") { $0.contains("\"entries\":1") }
        // Twice the interval: without changes nothing is printed.
        try await Task.sleep(for: .milliseconds(2_500))
        watch.send(SIGINT)
        #expect(try await watch.ending() == .code(130))
        let printed = watch.output.split(separator: "\n").count
        // One for the file, and perhaps one for its next state.
        #expect((2...4).contains(printed), "\(printed)")
        let refused = try await ChatFSProcess.run(["status", "--watch", mounts.path("nothing")])
        #expect(refused.errors.contains("No ChatFS mount exists"), "\(refused.errors)")
    }

    @Test("a closed pipe ends printing commands")
    func readerGone() async throws {
        let mounts = try await TwoMounts.start()
        let commands = ["events --json", "events", "status --watch --json", "status --watch"]
        for command in commands {
            let script = "{ \"$CHATFS\" \(command) --verbose \"$MOUNT\"; echo \"ended $?\" >&2; } | head -n 1"
            var settings = ChildProcess.Settings(try Shell.find("sh"), ["-c", script])
            settings.environment = ["CHATFS": ChatFSProcess.path, "MOUNT": mounts.path("bob")]
            let pipeline = try await RunningProcess.start(settings)
            if command.hasPrefix("events") {
                try await wait(until: "it listens") { pipeline.errors.contains("listening") }
                try mounts.write([1], to: "alice/bob/\(command).bin")
            }
            #expect(try await pipeline.ending() == .code(0), "\(command)")
            #expect(pipeline.errors.hasSuffix("ended 0\n"), "\(command): \(pipeline.errors)")
            #expect(pipeline.lines.count == 1, "\(pipeline.output)")
        }
        // The program still runs, and its output is lost.
        let log = mounts.path("arrivals")
        let program = try mounts.folder.write(
            Array("#!/bin/sh\necho \"$CHATFS_NAME\" >> '\(log)'\n".utf8), to: "program")
        #expect(chmod(program, 0o700) == 0)
        var settings = ChildProcess.Settings(
            try Shell.find("sh"),
            ["-c", "\"$CHATFS\" events --json --verbose --exec \"$PROGRAM\" \"$MOUNT\" | true"])
        settings.environment = [
            "CHATFS": ChatFSProcess.path, "MOUNT": mounts.path("bob"), "PROGRAM": program,
        ]
        let pipeline = try await RunningProcess.start(settings)
        try await wait(until: "it listens") { pipeline.errors.contains("listening") }
        for name in ["one.txt", "two.txt"] {
            try await mounts.send([1], as: name)
            try await wait(until: "it was run") {
                (try? mounts.folder.read("arrivals")).map { String(decoding: $0, as: UTF8.self) }?
                    .contains(name) == true
            }
        }
        pipeline.sendToGroup(SIGTERM)
        try await pipeline.ending()
    }

    @Test("an upload with a key happens once")
    func upload() async throws {
        let mounts = try await TwoMounts.start()
        let file = try mounts.folder.write(TwoMounts.bytes(300_000), to: "for bob.bin")
        let link = mounts.path("link")
        #expect(symlink(mounts.path("alice"), link) == 0)
        let status = try await ChatFSProcess.run(["status", "--json", mounts.path("alice")])
        let socket = try JSONDecoder().decode(Status.self, from: Data(status.output.utf8)).programSocket
        let answers = try await Shell.run(
            "python3",
            [
                "-c",
                """
                import json, socket, sys
                connection = socket.socket(socket.AF_UNIX)
                connection.settimeout(60)
                connection.connect(sys.argv[1])
                lines = connection.makefile("rw")
                print(json.loads(lines.readline())["profile"])
                def ask(**request):
                    lines.write(json.dumps(request) + "\\n")
                    lines.flush()
                    answer = json.loads(lines.readline())
                    print(answer.get("error", {}).get("code") or answer["result"].get("done"))
                for _ in range(2):
                    ask(id=1, method="upload", chat="bob", source=sys.argv[2], caption="hello", key="k-1")
                ask(id=2, method="upload", chat="bob", source=sys.argv[3] + "/bob/x")
                ask(id=3, method="upload", chat="bob", source=sys.argv[4] + "/bob/x")
                ask(id=4, method="upload", chat="carol", source=sys.argv[2])
                ask(id=5, method="upload", chat="bob", source="/dev/null")
                ask(id=6, method="upload", chat="bob", source=sys.argv[2], key="a key")
                """, socket, file, mounts.path("alice"), link,
            ])
        #expect(
            answers.output.split(separator: "\n") == [
                "alice", "True", "True", "refused", "refused", "no_such_chat", "refused", "invalid_parameter",
            ], "\(answers.output)\(answers.errors)")
        try await mounts.waitForFile("bob/alice/for bob.bin")
        #expect(try mounts.read("bob/alice/for bob.bin") == TwoMounts.bytes(300_000))
        #expect(
            try ExtendedAttribute.text("user.chatfs.caption", of: mounts.path("bob/alice/for bob.bin"))
                == "hello")
        #expect(try mounts.folder.names(in: "bob/alice") == ["for bob.bin"])
    }

    private struct Status: Decodable {
        var programSocket: String
    }
}

/// Threads of another process.
enum Threads {
    static func count(_ name: String, of process: RunningProcess) throws -> Int {
        let tasks = "/proc/\(process.processIdentifier)/task"
        let threads = try PrivateFolder.names(in: OpenFile(tasks, flags: O_RDONLY | O_DIRECTORY))
        // A thread that ends meanwhile has no name.
        return threads.count { thread in
            let comm = try? OpenFile("\(tasks)/\(thread)/comm", flags: O_RDONLY).read(count: 64, at: 0)
            return comm.map { String(decoding: $0, as: UTF8.self) } == name + "\n"
        }
    }
}
