import Glibc
import Posix
import TestSupport
import Testing

/// Every size, every way of reading, every chat and every name gives the sent bytes.
@Suite("Bytes", .serialized)
struct BytesTests {
    /// Around the limits of inline messages, of chunks and of their plan.
    private static let sizes = [1, 2, 65_000, 261_120, 261_121, 1 << 20, 3_145_729, 5_500_000]

    /// Files of all sizes in a folder, with names and digests.
    private struct Source {
        let folder: String
        let names: [String]
        let digests: [String]

        init(in mounts: TwoMounts, _ name: String) async throws {
            folder = try mounts.folder.makeFolder(name)
            names = BytesTests.sizes.map { "\(name) \($0).bin" }
            for (number, size) in BytesTests.sizes.enumerated() {
                try mounts.folder.write(
                    TwoMounts.bytes(size, seed: number + name.utf8.count * 100),
                    to: name + "/" + names[number])
                chmod(folder + "/" + names[number], 0o644)
            }
            let sums = try await Shell.run("sha256sum", ["--"] + names, folder: folder)
            digests = sums.output.split(separator: "\n").map { String($0.prefix(64)) }
        }

        func paths(in folder: String) -> [String] { names.map { folder + "/" + $0 } }
    }

    @Test("every size arrives everywhere by every way")
    func sizesAndReaders() async throws {
        let mounts = try await TwoMounts.start(mounting: [], encrypted: false)
        let everyone = ["alice", "bob", "carol", "dave", "erin"]
        for name in everyone.dropFirst(2) {
            try await mounts.run(["profile", "create", name, "--relay", mounts.relayAddress])
        }
        try await mounts.run(["group", "create", "Club"] + everyone)
        for name in everyone { try await mounts.mount(name) }
        let copies = try mounts.folder.makeFolder("copies")

        let toGroup = try await Source(in: mounts, "group")
        let toContact = try await Source(in: mounts, "contact")
        let toNotes = try await Source(in: mounts, "notes")
        // The second round sends nothing, neither drafts nor messages.
        for round in 0..<2 {
            let copied = try await Shell.run(
                "rsync", ["-ai", toGroup.folder + "/", mounts.path("alice/Club/")])
            #expect(copied.succeeded, "\(copied.errors)")
            #expect(copied.output.contains(">f") == (round == 0), "\(copied.output)")
        }
        for (source, chat) in [(toContact, "bob/alice"), (toNotes, "alice/Saved notes")] {
            let copied = try await Shell.script(
                "cp \"$SOURCE\"/* \"$FOLDER\"/",
                environment: ["SOURCE": source.folder, "FOLDER": mounts.path(chat)])
            #expect(copied.succeeded, "\(copied.errors)")
        }
        for name in everyone.dropFirst() { try await mounts.waitForFiles(toGroup.names, in: name + "/Club") }
        try await mounts.waitForFiles(toContact.names, in: "alice/bob")

        for (number, name) in everyone.enumerated() {
            #expect(
                try await Readers.digests(
                    of: toGroup.paths(in: mounts.path(name + "/Club")), from: number, copies: copies)
                    == toGroup.digests, "\(name)")
        }
        for (chat, source) in [("alice/bob", toContact), ("alice/Saved notes", toNotes)] {
            for start in 0..<2 {
                #expect(
                    try await Readers.digests(
                        of: source.paths(in: mounts.path(chat)), from: start * 3, copies: copies)
                        == source.digests, "\(chat)")
            }
        }

        try await expectMovesRefused(mounts, toGroup, toContact)
        try await expectOneNameManyTimes(mounts, everyone)
        // One message per new name, and no others.
        for name in everyone {
            let other = try mounts.folder.names(in: name + "/Club").filter { !$0.hasPrefix("report") }
            #expect(other == toGroup.names.sorted(), "\(name)")
        }
        for chat in ["alice/bob", "bob/alice"] {
            let other = try mounts.folder.names(in: chat).filter { !$0.hasPrefix("a") }
            #expect(other == toContact.names.sorted(), "\(chat)")
        }
        #expect(try mounts.folder.names(in: "alice/Saved notes") == toNotes.names.sorted())
        #expect(try mounts.folder.names(in: "bob/Saved notes").isEmpty)
        for name in everyone { #expect(try await mounts.leave(name) == .code(0)) }
    }

    /// `mv` between chats fails for received and sent files and notes, and neither loses nor sends any.
    private func expectMovesRefused(
        _ mounts: TwoMounts, _ group: Source, _ contact: Source
    ) async throws {
        for (from, to) in [
            ("bob/Club/" + group.names[4], "bob/alice/"), ("alice/Club/" + group.names[0], "alice/bob/"),
            ("alice/bob/" + contact.names[0], "alice/Saved notes/"),
        ] {
            let moved = try await Shell.run("mv", [mounts.path(from), mounts.path(to)])
            #expect(moved.ending == .code(1))
            #expect(access(mounts.path(from), R_OK) == 0, "\(from) is where it was")
        }
        // Out of the mount, `mv` copies and the entry stays.
        let name = group.names[1]
        let out = try await Shell.run("mv", [mounts.path("bob/Club/" + name), mounts.folder.path])
        #expect(out.succeeded, "\(out.errors)")
        #expect(try mounts.read("bob/Club/" + name) == mounts.folder.read(name))
    }

    /// One name from five members, and five times from one, gets permanent numbers.
    private func expectOneNameManyTimes(_ mounts: TwoMounts, _ everyone: [String]) async throws {
        for (number, name) in everyone.enumerated() {
            let bytes = Array("the report of \(name)".utf8)
            let member = try mounts.folder.write(bytes, to: "report.txt")
            try await mounts.run(["send", member, "Club", "--profile", name])
            let archive = try mounts.folder.write(Array("archive \(number)".utf8), to: "a.tar.gz")
            try await mounts.run(["send", archive, "alice", "--profile", "bob"])
        }
        let reports = ["report.txt"] + (2...5).map { "report (\($0)).txt" }
        let archives = ["a.tar.gz"] + (2...5).map { "a (\($0)).tar.gz" }
        let places =
            everyone.flatMap { name in reports.map { "\(name)/Club/\($0)" } }
            + ["alice/bob", "bob/alice"].flatMap { chat in archives.map { chat + "/" + $0 } }
        var seen: [[String]] = []
        for round in 0..<2 {
            if round == 1 {
                for name in everyone {
                    #expect(try await mounts.leave(name) == .code(0))
                    try await mounts.mount(name)
                }
            }
            for place in places { try await mounts.waitForFile(place) }
            seen.append(
                try places.map { place in
                    var status = stat()
                    #expect(lstat(mounts.path(place), &status) == 0)
                    return "\(status.st_ino) " + String(decoding: try mounts.read(place), as: UTF8.self)
                })
        }
        #expect(seen[0] == seen[1])
        for chat in 0..<7 {
            let contents = seen[0][chat * 5..<chat * 5 + 5].map { $0.drop { $0 != " " }.dropFirst() }
            let expected =
                chat < 5 ? everyone.map { "the report of \($0)" } : (0..<5).map { "archive \($0)" }
            #expect(Set(contents.map(String.init)) == Set(expected), "\(places[chat * 5])")
        }
        for name in everyone {
            #expect(try mounts.folder.names(in: name + "/Club").filter { $0.hasPrefix("report") }.count == 5)
        }
        #expect(try mounts.folder.names(in: "alice/bob").filter { $0.hasPrefix("a") } == archives.sorted())
    }

    /// Names from a sender and as shown; nil: `file-` and a number.
    private static let names: [(given: String, shown: String)] = [
        ("two words  and more.txt", "two words  and more.txt"),
        ("🎉 fête 👩‍👩‍👧.txt", "🎉 fête 👩‍👩‍👧.txt"),
        (String(repeating: "n", count: 251) + ".txt", String(repeating: "n", count: 251) + ".txt"),
        (String(repeating: "🎉", count: 63) + "abc", String(repeating: "🎉", count: 63) + "abc"),
        ("a.tar.gz", "a.tar.gz"),
        (".hidden", "hidden"),
        ("..profile", "profile"),
        ("invoice\u{202E}fdp.exe", "invoicefdp.exe"),
        ("\u{2066}isolated\u{2069}.txt", "isolated.txt"),
        ("back\\..\\slash.txt", "slash.txt"),
        ("line\nfeed\u{1B}[2J.txt", "linefeed[2J.txt"),
        ("trailing.txt . ", "trailing.txt"),
        ("-n", "_n"),
        ("e\u{301}te\u{301}.txt", "\u{E9}t\u{E9}.txt"),
        ("$(touch gone);'\"`*?.txt", "$(touch gone);'\"`*?.txt"),
        ("status.json", "status.json"),
    ]

    @Test("received names are sanitised and stay after remount")
    func incomingNames() async throws {
        let mounts = try await TwoMounts.start(mounting: [], encrypted: false)
        _ = try mounts.folder.makeFolder("source")
        // Sent by `chatfs send` before the first mount.
        for (number, name) in Self.names.enumerated() {
            let path = try mounts.folder.write(Array("sent \(number)".utf8), to: "source/" + name.given)
            try await mounts.run(["send", path, "alice", "--profile", "bob"])
        }
        // Names that are impossible for files but possible in messages of other programs.
        let hostile: [(given: String, shown: String?)] = [
            ("../../etc/passwd", "passwd"), ("..", nil), ("/", nil), ("/etc/cron.d/job", "job"), ("", nil),
            ("\u{202E}\u{1}", nil), (String(repeating: "long ", count: 200) + ".tar.gz", nil),
            ("a" + String(repeating: "\u{334}", count: 400) + ".pdf", nil),
            ("x/\u{338}etc/\u{338}y.txt", "\u{338}y.txt"),
        ]
        for number in hostile.indices {
            let path = try mounts.folder.write(Array("hostile \(number)".utf8), to: "source/plain \(number)")
            try await mounts.run(["send", path, "alice", "--profile", "bob"])
        }
        for (number, name) in hostile.enumerated() {
            try await mounts.change(
                "UPDATE file SET name = ? WHERE name = 'plain \(number)' AND profile = 1", [name.given])
        }
        try await mounts.mount("alice")
        var shown = Self.names.map(\.shown)
        var contents = Self.names.indices.map { "sent \($0)" }
        for (number, name) in hostile.enumerated() {
            if let name = name.shown {
                shown.append(name)
                contents.append("hostile \(number)")
            }
        }
        try await mounts.waitForFiles(shown, in: "alice/bob")
        let all = try mounts.folder.names(in: "alice/bob")
        #expect(all.count == Self.names.count + hostile.count, "\(all)")
        for name in all {
            #expect(!name.isEmpty && name.utf8.first != UInt8(ascii: ".") && name.utf8.count <= 255)
        }
        #expect(all.filter { $0.hasPrefix("file-") }.count == 4)
        #expect(all.contains { $0.hasPrefix("long long") && $0.hasSuffix(".tar.gz") && $0.utf8.count > 240 })
        #expect(all.contains { $0.utf8.starts(with: "a\u{334}".utf8) && $0.hasSuffix(".pdf") })
        for (name, content) in zip(shown, contents) {
            #expect(try mounts.read("alice/bob/" + name) == Array(content.utf8), "\(name)")
        }
        #expect(try await mounts.leave("alice") == .code(0))
        try await mounts.mount("alice")
        #expect(try mounts.folder.names(in: "alice/bob") == all)
        for (name, content) in zip(shown, contents) {
            #expect(try mounts.read("alice/bob/" + name) == Array(content.utf8), "\(name)")
        }
    }

    @Test("a draft keeps its unsafe name locally")
    func draftNames() async throws {
        let mounts = try await TwoMounts.start(encrypted: false)
        _ = try mounts.folder.makeFolder("source")
        for (number, name) in Self.names.enumerated() {
            try mounts.folder.write(Array("sent \(number)".utf8), to: "source/" + name.given)
        }
        let copied = try await Shell.script(
            "cp source/* source/.[!.]* source/..[!.]* alice/bob/", folder: mounts.folder.path)
        #expect(copied.succeeded, "\(copied.errors)")
        try await mounts.waitForFiles(Self.names.map(\.shown), in: "bob/alice")
        for (number, name) in Self.names.enumerated() {
            let bytes = Array("sent \(number)".utf8)
            #expect(try mounts.read("bob/alice/" + name.shown) == bytes, "\(name.shown)")
            #expect(try mounts.read("alice/bob/" + name.given) == bytes, "\(name.given)")
        }
        let given = Set(Self.names.map { Array($0.given.utf8) })
        #expect(Set(try mounts.folder.names(in: "alice/bob").map { Array($0.utf8) }) == given)
        #expect(try mounts.folder.names(in: "bob/alice").count == Self.names.count)
    }

    @Test("300 MiB arrive complete in both directions")
    func large() async throws {
        let mounts = try await TwoMounts.start(encrypted: false)
        let source = try mounts.folder.makeFolder("source")
        for (from, to) in [("alice/bob", "bob/alice"), ("bob/alice", "alice/bob")] {
            let name = from.prefix(3) + " large.bin"
            let sent = try await Shell.script(
                """
                head -c 314572800 /dev/urandom > "$SOURCE/$NAME" && cp "$SOURCE/$NAME" "$FOLDER/" &&
                sha256sum < "$SOURCE/$NAME" && rm "$SOURCE/$NAME"
                """,
                environment: ["SOURCE": source, "FOLDER": mounts.path(from), "NAME": String(name)],
                limit: .seconds(240))
            #expect(sent.succeeded, "\(sent.errors)")
            try await mounts.waitForFile(to + "/" + name)
            let received = try await Shell.script(
                "sha256sum < '\(mounts.path(to))/\(name)'", limit: .seconds(240))
            #expect(received.output == sent.output, "\(received.errors)")
        }
        for name in ["alice", "bob"] { #expect(try await mounts.leave(name) == .code(0)) }
    }
}
