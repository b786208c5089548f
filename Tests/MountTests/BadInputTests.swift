import Glibc
import Posix
import TestSupport
import Testing

/// Wrong descriptions and relays, as a reader on a mount meets them: an errno of the table, a sentence, no wrong byte,
/// and no effect on other files.
@Suite("Bad input", .serialized)
struct BadInputTests {
    private static let bytes = TwoMounts.bytes(300_000)

    @Test("each invalid input gives an errno and sentence")
    func lies() async throws {
        let mounts = try await TwoMounts.start(mounting: ["alice"], encrypted: false)
        let server = try await HostileServer(relayFolder: mounts.path("relay"))
        let address = mounts.relayAddress.dropFirst("xftp://".count).split(separator: "@").map(String.init)
        let misbehaving =
            Lie.misbehaving(server, fingerprint: address[0]) + [Lie.impostor(at: address[1])]
        let lies =
            Lie.malformed + Lie.untrue + Lie.forbidden(port: server.port(.knocked)) + misbehaving.map(\.lie)
        let truncated = try await prepare(lies, mounts)
        try await mounts.mount("bob", misbehaving.flatMap { ["--relay", $0.relay] })
        try await mounts.waitForFiles(lies.map(\.name) + ["honest"], in: "bob/alice")

        let answers = try await readAll(lies.map(\.name), in: mounts.path("bob/alice"))
        for (lie, answer) in zip(lies, answers) {
            let words = answer.split(separator: " ", maxSplits: 2).map(String.init)
            #expect(
                words.count == 3 && words[0] == "\(lie.code)" && words[1] == "0", "\(lie.name): \(answer)")
            #expect(answer.contains(lie.says), "\(lie.name): \(answer)")
        }
        #expect(!server.wasKnocked, "nobody may be asked for a file on a relay that is not approved")
        // An unavailable file keeps its entry and size.
        for lie in lies {
            var status = stat()
            #expect(lstat(mounts.path("bob/alice/" + lie.name), &status) == 0 && status.st_size == 300_000)
            let state = try mounts.state("bob/alice/" + lie.name)
            #expect(
                (state == "failed" || state == "expired") == [EBADMSG, ENODATA].contains(lie.code),
                "\(lie.name): \(state ?? "")")
        }
        #expect(try mounts.read("bob/alice/honest") == Self.bytes)
        // A relay with its chunks restored is used again.
        for (path, content) in truncated { try mounts.folder.write(content, to: path) }
        try await wait(until: "the mended file can be read") {
            (try? mounts.read("bob/alice/truncated chunk")) == Self.bytes
        }
        try await expectWholeDigest(mounts)
        try await expectCommandsFail(lies.filter(\.concernsDescription), mounts)
        // No policy permits the local network.
        try await mounts.run(["approve", "--policy", "always", "--profile", "bob"])
        let forbidden = lies.filter { $0.code == EACCES }.map(\.name)
        for (name, answer) in zip(forbidden, try await readAll(forbidden, in: mounts.path("bob/alice"))) {
            #expect(answer.hasPrefix("\(EACCES) 0 "), "\(name): \(answer)")
        }
        #expect(!server.wasKnocked)
        #expect(try await mounts.leave("bob") == .code(0))
        #expect(try await mounts.leave("alice") == .code(0))
        try await server.stop()
    }

    @Test("a description cannot escape its folder")
    func climbingName() async throws {
        let mounts = try await TwoMounts.start(mounting: [], encrypted: false)
        let inner = try mounts.folder.makeFolder("inner")
        _ = try mounts.folder.makeFolder("source")
        for (number, (given, shown)) in [
            ("..\\..\\climb.txt", "climb.txt"), (".\u{301}hidden", "\u{301}hidden"), ("..\u{202E}", "file"),
        ].enumerated() {
            let bytes = Array("content \(number)".utf8)
            let source = try mounts.folder.write(bytes, to: "source/" + given)
            let out = mounts.path("out \(number)")
            let sent = try await ChatFSProcess.run(
                ["file", "send", source, "--relay", mounts.relayAddress, "--out", out])
            #expect(sent.succeeded, "\(sent.errors)")
            let received = try await ChatFSProcess.run(
                ["file", "receive", out + "/rcv1.xftp", "--out", inner])
            #expect(received.succeeded, "\(received.errors)")
            #expect(try mounts.folder.read("inner/" + shown) == bytes)
        }
        #expect(try mounts.folder.names(in: "inner").count == 3)
        #expect(!(try mounts.folder.names().contains("climb.txt")))
    }

    /// Sends every file from alice and then breaks it. Returns the original chunks that were truncated, by path.
    private func prepare(_ lies: [Lie], _ mounts: TwoMounts) async throws -> [String: [UInt8]] {
        var truncated: [String: [UInt8]] = [:]
        // One file at a time, so that new chunks belong to it.
        for lie in lies.filter(\.isOfRelayDisk) {
            let before = Set(try mounts.folder.names(in: "relay/chunks"))
            try mounts.write(Self.bytes, to: "alice/bob/" + lie.name)
            try await mounts.waitForState("sent", of: "alice/bob/" + lie.name)
            for chunk in Set(try mounts.folder.names(in: "relay/chunks")).subtracting(before) {
                let path = "relay/chunks/" + chunk
                let file = try OpenFile(mounts.path(path), flags: O_RDWR)
                if case .flippedBytesOnRelay = lie.change {
                    try file.write([1, 2, 3], at: 5000)
                } else {
                    truncated[path] = try mounts.folder.read(path)
                    try check("truncate a chunk") { ftruncate(file.descriptor, 30_000) }
                }
            }
        }
        for name in lies.filter({ !$0.isOfRelayDisk }).map(\.name) + ["honest", Self.whole] {
            try mounts.write(Self.bytes, to: "alice/bob/" + name)
        }
        try mounts.write(Self.bytes + [0], to: "alice/bob/longer")
        for name in lies.map(\.name) + ["honest", "longer", Self.whole] {
            try await mounts.waitForState("sent", of: "alice/bob/" + name)
        }
        for lie in lies {
            switch lie.change {
            case .description(let text): try await edit(lie.name, mounts, ".*", text)
            case .replacing(let pattern, let text): try await edit(lie.name, mounts, pattern, text)
            case .descriptionOfTheLonger: try await edit(lie.name, mounts, "longer", nil)
            case .flippedBytesOnRelay, .truncatedChunkOnRelay: continue
            }
        }
        try await edit(Self.whole, mounts, "(?m)^digest: .{8}", "digest: AAAAAAAA")
        return truncated
    }

    private static let whole = "wrong whole digest"

    /// Replaces `pattern` in bob's description of a file by `text`; without `text`, replaces the description by another
    /// file's. Returns the description.
    @discardableResult
    private func edit(
        _ name: String, _ mounts: TwoMounts, _ pattern: String, _ text: String?
    ) async throws -> String {
        let script = """
            import re, sqlite3, sys
            database, name, pattern, text = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
            connection = sqlite3.connect(database, timeout=30)
            def description(name):
                return connection.execute("SELECT description FROM file WHERE name = ? AND profile = 2",
                                          [name]).fetchone()[0]
            if pattern == ".*": changed = text[0]
            elif text: changed, count = re.subn(pattern, text[0], description(name))
            else: changed = description(pattern)
            assert pattern == name or changed != description(name), "nothing was changed"
            connection.execute("UPDATE file SET description = ? WHERE name = ? AND profile = 2", [changed, name])
            connection.commit()
            sys.stdout.write(changed)
            """
        let outcome = try await Shell.run(
            "python3", ["-c", script, mounts.data + "/chatfs.db", name, pattern] + (text.map { [$0] } ?? []))
        guard outcome.succeeded else { throw WaitedInVain("\(name): \(outcome.errors)") }
        return outcome.output
    }

    /// Reads all files concurrently as far as possible. Returns `errno bytes error-attribute` for each.
    private func readAll(_ names: [String], in folder: String) async throws -> [String] {
        let script = """
            import os, sys, threading
            answers = {}
            def read(name):
                descriptor = os.open(name, os.O_RDONLY)
                count = code = 0
                try:
                    while piece := os.read(descriptor, 100000): count += len(piece)
                except OSError as error: code = error.errno
                try: says = os.getxattr(name, "user.chatfs.error").decode()
                except OSError: says = ""
                answers[name] = f"{code} {count} {says}"
                os.close(descriptor)
            threads = [threading.Thread(target=read, args=(name,)) for name in sys.argv[1:]]
            for thread in threads: thread.start()
            for thread in threads: thread.join()
            for name in sys.argv[1:]: print(answers[name].replace("\\n", "\\\\n"))
            """
        let outcome = try await Shell.run(
            "python3", ["-c", script] + names, folder: folder, limit: .seconds(200))
        let lines = outcome.output.split(separator: "\n").map(String.init)
        guard outcome.succeeded, lines.count == names.count else {
            throw WaitedInVain("reading: \(outcome.output)\(outcome.errors)")
        }
        return lines
    }

    /// Every chunk matches its digest, but the whole does not. The chunks prove the bytes, so they are served;
    /// `chatfs verify` reports that the sender's description contradicts itself.
    private func expectWholeDigest(_ mounts: TwoMounts) async throws {
        #expect(try mounts.read("bob/alice/" + Self.whole) == Self.bytes)
        try await wait(until: "the file is kept") {
            ["stored", "hydrated"].contains(try mounts.state("bob/alice/" + Self.whole))
        }
        let outcome = try await ChatFSProcess.run([
            "verify", "--data", mounts.data, "--profile", "bob", "--json",
        ])
        let lines = outcome.output.split(separator: "\n").filter { $0.contains("contradictory") }
        #expect(outcome.ending == .code(1) && lines.count == 1, "\(outcome.output)\(outcome.errors)")
        #expect(lines.allSatisfy { $0.contains(Self.whole) }, "\(outcome.output)")
    }

    /// `chatfs file receive` of the same descriptions prints one line, exits with 1 and leaves no file.
    private func expectCommandsFail(_ lies: [Lie], _ mounts: TwoMounts) async throws {
        for name in lies.map(\.name) + [Self.whole] {
            let text = try await edit(name, mounts, name, nil)
            try mounts.folder.write(Array(text.utf8), to: "description.xftp")
            let outcome = try await ChatFSProcess.run(
                ["file", "receive", mounts.path("description.xftp"), "--out", mounts.path("received")])
            #expect(outcome.ending == .code(1), "\(name)")
            let lines = outcome.errors.split(separator: "\n").filter { !$0.hasPrefix("Receiving: ") }
            #expect(lines.count == 1 && lines[0].hasPrefix("chatfs: "), "\(name): \(outcome.errors)")
            #expect(!(try mounts.folder.names().contains { $0.contains("received") }), "\(name)")
        }
    }
}
