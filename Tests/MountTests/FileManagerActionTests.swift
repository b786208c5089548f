import Glibc
import Posix
import TestSupport
import Testing

/// `chatfs-file-action`, which menus of file managers run, on real mounts.
@Suite("Menus of file managers", .serialized)
struct FileManagerActionTests {
    private func act(
        _ action: String, on paths: [String], text: String = "", environment: [String: String?] = [:]
    ) async throws -> Shell.Outcome {
        // The unprivileged user may have no access to the clone; contrib/test makes a copy.
        let copy = getenv("CHATFS_REPOSITORY").map { String(cString: $0) }
        let root = copy ?? #filePath.split(separator: "/").dropLast(3).reduce("") { $0 + "/" + $1 }
        let program = root + "/contrib/file-managers/common/chatfs-file-action"
        let list = paths.map { "'" + $0 + "'" }.joined(separator: " ")
        let words = text.isEmpty ? "" : "; printf '\\0%s' '\(text)'"
        return try await Shell.script(
            "{ printf '%s\\0' \(list)\(words); } | python3 -B '\(program)' \(action)",
            environment: environment)
    }

    @Test("several files are received, kept and freed")
    func receiving() async throws {
        let mounts = try await TwoMounts.start()
        let names = ["first photo.bin", "second.bin", "third.bin"]
        for (seed, name) in names.enumerated() {
            try await mounts.send(TwoMounts.bytes(400_000, seed: seed + 1), as: name)
        }
        let files = names.map { mounts.path("bob/alice/" + $0) }
        let received = try await act("hydrate", on: files)
        #expect(received.succeeded, "\(received.errors)")
        for name in names {
            let state = try mounts.state("bob/alice/" + name)
            #expect(state == "stored" || state == "hydrated", "\(name) is \(state ?? "nothing")")
        }

        #expect(try await act("pin", on: [files[0]]).succeeded)
        // Emblems and menus read these attributes.
        #expect(try ExtendedAttribute.text("user.chatfs.pinned", of: files[0]) == "yes")
        #expect(try ExtendedAttribute.text("user.chatfs.pinned", of: files[1]) == nil)
        for name in names { _ = try mounts.read("bob/alice/" + name) }
        for name in names { try await mounts.waitForState("stored", of: "bob/alice/" + name) }
        let freed = try await act("free", on: files)
        #expect(freed.ending == .code(1))
        #expect(
            freed.errors == "first photo.bin: The file is kept on this device. Choose Stop Keeping first.\n"
                + "800.0 kB freed (2 files).\n")
        for name in names.dropFirst() { try await mounts.waitForState("remote", of: "bob/alice/" + name) }
        #expect(try mounts.state("bob/alice/first photo.bin") == "stored")
        #expect(try await act("unpin", on: [files[0]]).succeeded)
        #expect(try ExtendedAttribute.text("user.chatfs.pinned", of: files[0]) == nil)
        #expect(try await act("free", on: files).output == "400.0 kB freed (1 file).\n")
        try await mounts.waitForState("remote", of: "bob/alice/first photo.bin")
        // A file on a relay is received again.
        #expect(try mounts.read("bob/alice/first photo.bin") == TwoMounts.bytes(400_000, seed: 1))

        let refused = try await act("retry", on: [files[0], mounts.path("bob/alice/none.bin")])
        #expect(refused.ending == .code(1) && refused.errors.contains("can be resent"))
        #expect(refused.errors.contains("none.bin: No such file"))
    }

    @Test("approval receives a refused file")
    func approving() async throws {
        let mounts = try await TwoMounts.start(mounting: ["alice"])
        try await mounts.run(["relay", "remove", mounts.relayAddress, "--profile", "bob"])
        try await mounts.mount("bob")
        try await mounts.send(TwoMounts.bytes(400_000), as: "report.bin")
        let file = mounts.path("bob/alice/report.bin")
        let refused = try await act("hydrate", on: [file])
        #expect(refused.ending == .code(1))
        let host = String(mounts.relayAddress.split(separator: "@").last ?? "")
        #expect(refused.errors.contains(host) && !refused.errors.contains("chatfs "), "\(refused.errors)")
        #expect(refused.output == "button\tapprove\tApprove Relays\n")
        // The menu depends on this attribute.
        let problem = try ExtendedAttribute.text("user.chatfs.error", of: file)
        #expect(problem?.contains("chatfs approve xftp://") == true)
        let explained = try await act("explain", on: [file])
        #expect(explained.output.hasPrefix("button\tapprove\tApprove Relays\n"), "\(explained)")
        #expect(explained.output.contains("inside your own network") && !explained.output.contains("chatfs "))
        let all = try await act("approve-all", on: [mounts.path("bob/alice")])
        #expect(all.output.hasPrefix("button\tapprove-listed="), "\(all)")
        #expect(all.output.contains("\tApprove All\n"), "\(all)")
        let approved = try await act("approve", on: [file])
        #expect(approved.succeeded, "\(approved.errors)")
        let received = try await act("hydrate", on: [file])
        #expect(received.succeeded, "\(received.errors)")
        #expect(try await act("approve", on: [file]).succeeded, "nothing is left to approve")
    }

    @Test("a last copy needs the confirmation's button")
    func lastCopy() async throws {
        let mounts = try await TwoMounts.start()
        try await mounts.send(TwoMounts.bytes(1000), as: "letter.txt")
        let file = mounts.path("bob/alice/letter.txt")
        let asked = try await act("free", on: [file])
        #expect(asked.ending == .code(1) && asked.errors.contains("this is the last copy"))
        #expect(asked.output == "button\tfree-last\tDelete for Good\n")
        #expect(try mounts.read("bob/alice/letter.txt") == TwoMounts.bytes(1000))
        let freed = try await act("free-last", on: [file])
        #expect(freed.output == "1.0 kB freed (1 file).\n", "\(freed)")
        try await mounts.waitForState("expired", of: "bob/alice/letter.txt")
        let explained = try await act("explain", on: [file])
        #expect(explained.output.contains("was deleted here") && !explained.output.contains("button"))
        let own = try await act("free", on: [mounts.path("alice/bob/letter.txt")])
        #expect(own.errors == "letter.txt: Your own files stay: no relay keeps a copy for you.\n")
    }

    @Test("properties show state, sender, size and expiry")
    func properties() async throws {
        let mounts = try await TwoMounts.start()
        try await mounts.send(TwoMounts.bytes(400_000), as: "film.bin")
        let file = mounts.path("bob/alice/film.bin")
        let remote = try await act("describe", on: [file])
        #expect(
            remote.output.hasPrefix("State\tNot on this device\nSent by\talice\nOn this device\tNothing\n"))
        #expect(remote.output.contains("\nRelays keep it until\t"), "\(remote)")
        let relay = try #require(mounts.relayAddress.split(separator: "@").last)
        #expect(remote.output.contains("\nRelays\t\(relay)\n"), "\(remote)")
        #expect(try await act("hydrate", on: [file]).succeeded)
        let here = try await act("describe", on: [file])
        #expect(here.output.hasPrefix("State\tOn this device"), "\(here)")
        #expect(here.output.contains("\nOn this device\t400.0 kB\n"), "\(here)")
    }

    @Test("the chat menu mutes, sends, keeps and saves")
    func chats() async throws {
        let mounts = try await TwoMounts.start()
        let chat = mounts.path("bob/alice")
        #expect(try ExtendedAttribute.text("user.chatfs.chat", of: chat)?.hasPrefix("@") == true)
        #expect(try await act("mute", on: [chat]).output.contains("are off"))
        #expect(try await mounts.run(["mute", "--profile", "bob"]).output == "alice\n")
        #expect(try await act("mute", on: [chat]).output.contains("are on"))
        #expect(try await mounts.run(["mute", "--profile", "bob"]).output == "")
        #expect(try await act("mark-read", on: [chat]).succeeded)
        #expect(try await act("send-text", on: [chat], text: "See you at ten").succeeded)
        try await wait(until: "the text is there") {
            (try? mounts.read("alice/.chatfs/messages/bob.jsonl")).map {
                String(decoding: $0, as: UTF8.self).contains("See you at ten")
            } ?? false
        }
        #expect(try await act("send-text", on: [chat]).errors == "Nothing is sent: the text is empty.\n")
        #expect(try await act("keep-all", on: [chat]).succeeded)
        let links = mounts.path("bob/Links")
        #expect(
            try ExtendedAttribute.text("user.chatfs.actions", of: links) == "upload mark_read mute approve")
        #expect(try await act("keep-all", on: [links]).errors.contains("nothing to mute"))
        #expect(
            try await mounts.run(["keep", "show", "--profile", "bob", "--chat", "alice"]).output.contains(
                "all"))
        try await mounts.send(TwoMounts.bytes(400_000), as: "film.bin")
        try await mounts.send(TwoMounts.bytes(10), as: "note.txt")
        let home = try mounts.folder.makeFolder("home")
        let saved = try await act(
            "save-all", on: [chat], environment: ["HOME": home, "XDG_CONFIG_HOME": home + "/.config"])
        #expect(saved.output == "2 files (400.0 kB) saved in \(home)/alice.\n", "\(saved)")
        #expect(
            try await Shell.run("cmp", [home + "/alice/film.bin", mounts.path("alice/bob/film.bin")])
                .succeeded)
    }

    @Test("a killed mount is reported without waiting")
    func killed() async throws {
        let mounts = try await TwoMounts.start()
        try await mounts.send(TwoMounts.bytes(400_000), as: "report.bin")
        let daemon = try mounts.daemon("bob")
        daemon.send(SIGKILL)
        _ = try await daemon.ending()
        let outcome = try await act("hydrate", on: [mounts.path("bob/alice/report.bin")])
        #expect(outcome.errors == "report.bin: The mount does not answer.\n")
    }
}
