import Glibc
import Posix
import TestSupport
import Testing

@Suite("The folder of links", .serialized)
struct LinkFolderTests {
    private let bob = ["--profile", "bob"]

    @Test(
        "a copied file gets a public link",
        arguments: [1, 100_000, 3_000_000])
    func upload(size: Int) async throws {
        let mounts = try await TwoMounts.start(mounting: ["alice"], encrypted: false)
        try mounts.write(TwoMounts.bytes(size), to: "alice/Links/film.bin")
        let link = try await mounts.waitForLink("alice/Links/film.bin")
        #expect(link.hasPrefix("simplex:/file#/?desc="))
        try await mounts.waitForFile("alice/Links/film.bin.url")
        let shortcut = String(decoding: try mounts.read("alice/Links/film.bin.url"), as: UTF8.self)
        #expect(shortcut == "[InternetShortcut]\r\nURL=\(link)\r\n")
        #expect(try mounts.read("alice/Links/film.bin") == TwoMounts.bytes(size))
        let expires = try ExtendedAttribute.text(
            "user.chatfs.expires", of: mounts.path("alice/Links/film.bin"))
        #expect(expires.flatMap { Int($0) } ?? 0 > time(nil) + 47 * 3600)
        let target = mounts.path("copy.bin")
        try await mounts.run(["file", "receive", link, "--out", target] + bob)
        #expect(try mounts.read("copy.bin") == TwoMounts.bytes(size))
        // Read-only, and not listed, so that tools do not copy it.
        #expect(throws: SystemError.self) {
            try OpenFile(mounts.path("alice/Links/film.bin.url"), flags: O_WRONLY)
        }
        let listed = try await Shell.run("getfattr", ["-d", "-m", "-", mounts.path("alice/Links/film.bin")])
        #expect(!listed.output.contains("simplex:"))
        let status = String(decoding: try mounts.read("alice/.chatfs/status.json"), as: UTF8.self)
        #expect(!status.contains("simplex:/"))
    }

    @Test(
        "reading an added link fetches its file",
        arguments: [50_000, 3_000_000])
    func add(size: Int) async throws {
        let mounts = try await TwoMounts.start(encrypted: false)
        try mounts.write(TwoMounts.bytes(size), to: "alice/Links/a film.bin")
        let link = try await mounts.waitForLink("alice/Links/a film.bin")
        // A single chunk needs no redirect: the link contains everything.
        if size < 60_000 { mounts.relay.send(SIGSTOP) }
        let added = try await mounts.run(["link", "add", link] + bob)
        #expect(added.output == "a film.bin\n")
        mounts.relay.send(SIGSTOP)
        let place = "bob/Links/a film.bin"
        try await mounts.waitForFile(place)
        #expect(try mounts.state(place) == "remote")
        #expect(try OpenFile(mounts.path("bob/Links"), flags: O_RDONLY).status().st_mode & 0o777 == 0o700)
        var status = stat()
        #expect(stat(mounts.path(place), &status) == 0 && status.st_size == size)
        #expect(try ExtendedAttribute.text("user.chatfs.direction", of: mounts.path(place)) == "received")
        #expect(try ExtendedAttribute.text("user.chatfs.sender", of: mounts.path(place)) == nil)
        #expect(try ExtendedAttribute.text("user.chatfs.expires", of: mounts.path(place)) != nil)
        #expect(try mounts.state(place) == "remote")
        mounts.relay.send(SIGCONT)
        #expect(try mounts.read(place) == TwoMounts.bytes(size))
        try await wait(until: "it is here") {
            try ["stored", "hydrated"].contains(mounts.state(place) ?? "")
        }
        // Adding it again has no effect.
        #expect(try await mounts.run(["link", "add", link] + bob).output == "a film.bin\n")
        #expect(try mounts.folder.names(in: "bob/Links") == ["a film.bin"])
        // It stays without its relay.
        #expect(try await mounts.leave("bob") == .code(0))
        mounts.relay.send(SIGKILL)
        try await mounts.mount("bob")
        #expect(try mounts.read(place) == TwoMounts.bytes(size))
        // Removed with its file.
        unlink(mounts.path(place))
        try await wait(until: "it is gone") { try mounts.folder.names(in: "bob/Links").isEmpty }
    }

    @Test("removing an upload deletes chunks and shortcut")
    func remove() async throws {
        let mounts = try await TwoMounts.start(mounting: ["alice"], encrypted: false)
        for name in ["one.bin", "two.bin", "three.bin"] {
            try mounts.write(TwoMounts.bytes(1_500_000), to: "alice/Links/" + name)
            _ = try await mounts.waitForLink("alice/Links/" + name)
        }
        #expect(try mounts.chunks() > 0)
        #expect(unlink(mounts.path("alice/Links/one.bin")) == 0)
        try await mounts.run(["link", "remove", mounts.path("alice/Links/two.bin")])
        try await mounts.run(["link", "remove", "three.bin", "--profile", "alice"])
        try await wait(until: "the folder is empty") { try mounts.folder.names(in: "alice/Links").isEmpty }
        try await wait(until: "the relay has nothing") { try mounts.chunks() == 0 }
        try await wait(until: "no file is left here") { try mounts.keptFiles().isEmpty }
    }

    @Test("pending deletions survive an outage and kill -9")
    func removedWhileAway() async throws {
        let mounts = try await TwoMounts.start(mounting: ["alice"], encrypted: false)
        try mounts.write(TwoMounts.bytes(300_000), to: "alice/Links/a.bin")
        _ = try await mounts.waitForLink("alice/Links/a.bin")
        mounts.relay.send(SIGSTOP)
        #expect(unlink(mounts.path("alice/Links/a.bin")) == 0)
        try mounts.daemon("alice").send(SIGKILL)
        try await mounts.daemon("alice").ending()
        mounts.relay.send(SIGCONT)
        try await mounts.mount("alice")
        try await wait(until: "the relay has nothing", within: .seconds(60)) { try mounts.chunks() == 0 }
        #expect(try mounts.folder.names(in: "alice/Links").isEmpty)
    }

    @Test("an upload resumes after kill -9 without duplicates")
    func killed() async throws {
        let mounts = try await TwoMounts.start(mounting: ["alice"], encrypted: false)
        for round in 0..<3 {
            mounts.relay.send(SIGSTOP)
            try mounts.write(TwoMounts.bytes(300_000, seed: round), to: "alice/Links/\(round).bin")
            let place = "alice/Links/\(round).bin"
            try await wait(until: "it is on its way") {
                try ["queued", "sending"].contains(mounts.state(place) ?? "")
            }
            try mounts.daemon("alice").send(SIGKILL)
            try await mounts.daemon("alice").ending()
            mounts.relay.send(SIGCONT)
            try await mounts.mount("alice")
            _ = try await mounts.waitForLink(place)
        }
        let names = (0..<3).flatMap { ["\($0).bin", "\($0).bin.url"] }
        #expect(try mounts.folder.names(in: "alice/Links").sorted() == names.sorted())
        let uploads = try await mounts.count("SELECT count(*) FROM file WHERE plain_path IS NOT NULL")
        #expect(uploads == 3)
        for round in 0..<3 { #expect(unlink(mounts.path("alice/Links/\(round).bin")) == 0) }
        try await wait(until: "the relay has nothing", within: .seconds(60)) { try mounts.chunks() == 0 }
    }

    @Test("an upload waits for an unreachable relay")
    func relayAway() async throws {
        let mounts = try await TwoMounts.start(mounting: ["alice"], encrypted: false)
        mounts.relay.send(SIGKILL)
        try await mounts.relay.ending()
        try mounts.write(TwoMounts.bytes(50_000), to: "alice/Links/a.bin")
        let place = mounts.path("alice/Links/a.bin")
        try await wait(until: "it says why", within: .seconds(60)) {
            try mounts.state("alice/Links/a.bin") == "sending"
                && ExtendedAttribute.text("user.chatfs.error", of: place) != nil
        }
        #expect(try ExtendedAttribute.text("user.chatfs.link", of: place) == nil)
        try await mounts.startRelay()
        _ = try await mounts.waitForLink("alice/Links/a.bin", within: .seconds(120))
    }

    @Test("unfinished, hidden and oversized files are not uploaded")
    func drafts() async throws {
        let mounts = try await TwoMounts.start(mounting: ["alice"], encrypted: false)
        let writer = try mounts.create("alice/Links/slow.bin")
        try writer.write([1, 2, 3], at: 0)
        try mounts.write([1], to: "alice/Links/half.part")
        try mounts.write([], to: "alice/Links/empty")
        try mounts.write([7], to: "alice/Links/last.bin")
        _ = try await mounts.waitForLink("alice/Links/last.bin")
        for name in ["slow.bin", "half.part", "empty"] {
            #expect(try mounts.state("alice/Links/" + name) == "draft")
        }
        #expect(try await mounts.count("SELECT count(*) FROM file WHERE plain_path IS NOT NULL") == 1)
        #expect(throws: SystemError.self) { try writer.write([1], at: 5 << 30) }
        #expect(rename(mounts.path("alice/Links/half.part"), mounts.path("alice/Links/whole.bin")) == 0)
        _ = try await mounts.waitForLink("alice/Links/whole.bin")
        // The name is in use, as in a chat.
        #expect(throws: SystemError.self) {
            try OpenFile(mounts.path("alice/Links/last.bin"), flags: O_WRONLY | O_TRUNC)
        }
        #expect(errorCode { mkdir(mounts.path("alice/Links/.folder"), 0o700) } == EPERM)
    }

    @Test("invalid and unapproved links are refused")
    func hostile() async throws {
        let mounts = try await TwoMounts.start(encrypted: false)
        try mounts.write(TwoMounts.bytes(3_000_000), to: "alice/Links/a.bin")
        let link = try await mounts.waitForLink("alice/Links/a.bin")
        let foreign = link.replacing(
            /xftp%3A%2F%2F[^%]+%3D%40[^%]+%3A\d+/,
            with: "xftp%3A%2F%2F\(String(repeating: "A", count: 43))%3D%40192.0.2.1%3A443")
        #expect(foreign != link)
        for (text, word) in [
            ("hello", "Not a file link"), ("simplex:/file#/?desc=a", "description"),
            ("https://relay.example/#", "Not a file link"),
            ("https://relay.example/#AAAA", "Not a file link"), (foreign, "chatfs approve"),
        ] {
            let refused = try await ChatFSProcess.run(["link", "add", text, "--data", mounts.data] + bob)
            #expect(refused.ending == .code(1) && refused.errors.contains(word), "\(refused.errors)")
            #expect(!refused.errors.contains(text) || text == "hello", "a link is a secret")
        }
        #expect(try mounts.folder.names(in: "bob/Links").isEmpty)
        let usage = try await ChatFSProcess.run(["link", "add"])
        #expect(usage.ending == .code(64))
    }

    @Test("links are listed, printed and copied")
    func commands() async throws {
        let mounts = try await TwoMounts.start(mounting: ["alice"], encrypted: false)
        try mounts.write(TwoMounts.bytes(1000), to: "alice/Links/a.bin")
        let link = try await mounts.waitForLink("alice/Links/a.bin")
        try await mounts.waitForFile("alice/Links/a.bin.url")
        let alice = ["--profile", "alice"]
        func check() async throws {
            let listed = try await mounts.run(["link", "list"] + alice)
            #expect(
                listed.output.contains("uploaded") && listed.output.contains("a.bin\n"), "\(listed.output)")
            #expect(!listed.output.contains("simplex:") && !listed.output.contains(".url"))
            #expect(try await mounts.run(["link", "copy", "a.bin"] + alice).output == link + "\n")
        }
        try await check()
        let printed = try await mounts.run(["link", "copy", mounts.path("alice/Links/a.bin")])
        #expect(printed.output == link + "\n")
        let items = try await ChatFSProcess.run(["ls", "--json", mounts.path("alice/Links")])
        let plain = items.output.replacing("\\/", with: "/")
        #expect(items.succeeded && plain.contains("\"link\":\"\(link)\""), "\(items.output) \(items.errors)")
        // A clipboard program that logs its input.
        let tools = try mounts.folder.makeFolder("tools")
        let script = "#!/bin/sh\necho \"$@\" > \(tools)/words\ncat > \(tools)/text\n"
        try mounts.folder.write(Array(script.utf8), to: "tools/xclip")
        chmod(tools + "/xclip", 0o700)
        let copied = try await ChatFSProcess.run(
            ["link", "copy", mounts.path("alice/Links/a.bin"), "--clipboard"],
            environment: ["PATH": tools + ":/usr/bin:/bin", "WAYLAND_DISPLAY": nil])
        #expect(copied.succeeded && copied.output.isEmpty, "\(copied.errors)")
        #expect(String(decoding: try mounts.read("tools/text"), as: UTF8.self) == link)
        #expect(String(decoding: try mounts.read("tools/words"), as: UTF8.self) == "-selection clipboard\n")
        let outside = try await ChatFSProcess.run(["link", "remove", tools + "/xclip"])
        #expect(outside.ending == .code(1) && access(tools + "/xclip", F_OK) == 0)
        #expect(try await mounts.leave("alice") == .code(0))
        try await check()
        try await mounts.run(["link", "remove", "a.bin"] + alice)
        #expect(try await mounts.run(["link", "list"] + alice).output.isEmpty)
    }

    @Test("names and numbers survive remounts and retries")
    func remounted() async throws {
        let mounts = try await TwoMounts.start(mounting: ["alice"], encrypted: false)
        try mounts.write(TwoMounts.bytes(1000), to: "alice/Links/a.bin")
        let link = try await mounts.waitForLink("alice/Links/a.bin")
        try await mounts.waitForFile("alice/Links/a.bin.url")
        func numbers() throws -> [String: UInt64] {
            var numbers: [String: UInt64] = [:]
            for name in try mounts.folder.names(in: "alice/Links") {
                var status = stat()
                stat(mounts.path("alice/Links/" + name), &status)
                numbers[name] = UInt64(status.st_ino)
            }
            return numbers
        }
        let before = try numbers()
        #expect(Set(before.keys) == ["a.bin", "a.bin.url"])
        #expect(try await mounts.leave("alice") == .code(0))
        try await mounts.mount("alice")
        #expect(try numbers() == before)
        #expect(try await mounts.waitForLink("alice/Links/a.bin") == link)
        // The shortcut can be removed alone.
        #expect(unlink(mounts.path("alice/Links/a.bin.url")) == 0)
        #expect(try mounts.folder.names(in: "alice/Links") == ["a.bin"])
        #expect(try mounts.chunks() > 0)
        try await mounts.change(
            "UPDATE link SET status = 'failed', link = NULL", in: "profiles/1/links.sqlite")
        #expect(try await mounts.leave("alice") == .code(0))
        try await mounts.mount("alice")
        #expect(try mounts.state("alice/Links/a.bin") == "failed")
        try await mounts.run(["retry", mounts.path("alice/Links/a.bin")], plain: true)
        let again = try await mounts.waitForLink("alice/Links/a.bin")
        #expect(again != link)
    }
}

extension TwoMounts {
    /// Waits for the link of an upload.
    fileprivate func waitForLink(_ name: String, within limit: Duration = .seconds(60)) async throws -> String
    {
        try await wait(until: "\(name) has a link", within: limit) {
            try ExtendedAttribute.text("user.chatfs.link", of: self.path(name)) != nil
        }
        return try ExtendedAttribute.text("user.chatfs.link", of: path(name)) ?? ""
    }

    fileprivate func chunks() throws -> Int { try folder.names(in: "relay/chunks").count }

    /// CryptoFiles of alice's links.
    fileprivate func keptFiles() throws -> [String] {
        try folder.names(in: "data/profiles/1/staging/links-1")
    }

    /// Runs a command that takes no `--data`.
    fileprivate func run(_ arguments: [String], plain: Bool) async throws {
        let outcome = try await ChatFSProcess.run(arguments)
        guard outcome.succeeded else { throw WaitedInVain("\(arguments[0]): \(outcome.errors)") }
    }

    /// The result of a counting query of the data directory's database.
    fileprivate func count(_ query: String) async throws -> Int? {
        let script =
            "import sqlite3, sys; print(sqlite3.connect(sys.argv[1], timeout=30).execute(sys.argv[2]).fetchone()[0])"
        let outcome = try await Shell.run("python3", ["-c", script, data + "/chatfs.db", query])
        return Int(outcome.output.filter(\.isNumber))
    }
}
