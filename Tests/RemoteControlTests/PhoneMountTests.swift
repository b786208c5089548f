import Base
import Glibc
import Network
import OfficialCore
import Posix
import ScriptedCore
import TestSupport
import Testing

/// `chatfs phone` with a scripted phone that scans its link.
@Suite("A phone is mounted", .serialized)
struct PhoneMountTests {
    private static func phone() throws -> ChatPhone {
        let phone = try ChatPhone()
        phone.put(Array("here".utf8), as: "here.txt")
        phone.put(Array("there".utf8), as: "there.txt")
        phone.core.change { state in
            for (id, name) in [(1, "here.txt"), (2, "there.txt")] {
                var message = ScriptedMessage(
                    id: Int64(id), contact: 1, name: name, size: id == 1 ? 4 : 5)
                message.status = #"{"type":"rcvComplete"}"#
                message.path = name
                state.history.append(message)
            }
        }
        return phone
    }

    @Test func scannedPhoneIsFoldersAndStaysSo() async throws {
        let (place, phone) = (try PhoneMountPlace(), try Self.phone())
        try await place.mount()
        try phone.connect(to: try await place.link())
        try await place.waitUntilMounted()
        #expect(place.daemon?.output.contains("Compare it with this one") == true)
        #expect(place.daemon?.errors.contains("uses its storage") == true)
        let path = place.folder.path("Phone/bob/here.txt")
        try await wait(until: "its files are shown") { access(path, F_OK) == 0 }
        #expect(try place.state("here.txt") == "remote", "it is only on the phone")
        #expect(try await place.content("bob/here.txt").output == "here")
        #expect(["stored", "hydrated"].contains(try place.state("here.txt")))
        // A copy is a message.
        let source = try place.folder.write(Array("mine".utf8), to: "mine.txt")
        let copied = try await Shell.script(
            #"cp "$FROM" "$TO""#,
            environment: ["FROM": source, "TO": place.folder.path("Phone/bob/mine.txt")])
        #expect(copied.succeeded)
        try await wait(until: "it is sent") { phone.core.count("/_send @1") == 1 }
        #expect(phone.files["mine.txt"] == Array("mine".utf8))
        try await place.leave()
        // Away: listed, and readable where it was read.
        try await place.mount()
        try await place.waitUntilMounted()
        #expect(try await place.content("bob/here.txt").output == "here")
        let missing = try await place.content("bob/there.txt")
        #expect(!missing.succeeded && missing.errors.contains("No route to host"))
        #expect(try place.state("here.txt") != "remote")
        #expect(try place.state("there.txt") == "remote")
        let error = try ExtendedAttribute.text(
            "user.chatfs.error", of: place.folder.path("Phone/bob/there.txt"))
        #expect(error?.contains("only on the phone") == true)
        // Queued, and sent once when it is back.
        let late = try await Shell.script(
            #"cp "$FROM" "$TO""#,
            environment: ["FROM": source, "TO": place.folder.path("Phone/bob/late.txt")])
        #expect(late.succeeded)
        try phone.connect(to: try await place.link())
        try await wait(until: "it is sent") { phone.files["late.txt"] != nil }
        try await wait(until: "it is told") { phone.core.count("/_send @1") == 2 }
        // The failure is answered again for a moment.
        try await wait(until: "the other file can be read") {
            try await place.content("bob/there.txt").output == "there"
        }
        try await place.leave()
        #expect(!phone.core.commands.contains { $0.hasPrefix("/_read") || $0.hasPrefix("/_delete") })
    }

    @Test func laterLinkOfAnnouncedMountIsPrinted() async throws {
        let (place, phone) = (try PhoneMountPlace(), try Self.phone())
        try await place.mount(listen: "localhost")
        try phone.connect(to: try await place.link())
        try await place.waitUntilMounted()
        phone.leave()
        try phone.connect(to: try await place.link())
        try await place.leave()
    }

    /// The ways that the link names need not be addresses of this computer.
    @Test func linkNamesAForwardedPort() async throws {
        let (place, phone) = (try PhoneMountPlace(), try Self.phone())
        let own = try #require(LoopbackPort.unused())
        let forwarder = try PortForwarder(to: own)
        try await place.mount(
            ["--host", "localhost:\(forwarder.port)", "--versions", "6.4-9.1"], listen: "127.0.0.1:\(own)")
        let link = try await place.link()
        #expect(link.contains("@localhost:\(forwarder.port)#/"))
        let versions = #"{"maxVersion":"9.1","minVersion":"6.4"}"#
        #expect(PercentEncoding.decode(link)?.contains(#""appVersionRange":"# + versions) == true)
        try phone.connect(to: link)
        try await place.waitUntilMounted()
        try await place.leave()
    }

    @Test func readingAndDeletingAreToldOnRequest() async throws {
        let (place, phone) = (try PhoneMountPlace(), try Self.phone())
        try await place.mount(["--mark-read", "on-open", "--delete", "self"])
        try phone.connect(to: try await place.link())
        try await place.waitUntilMounted()
        let path = place.folder.path("Phone/bob/here.txt")
        try await wait(until: "its files are shown") { access(path, F_OK) == 0 }
        for _ in 1...2 { #expect(try await place.content("bob/here.txt").output == "here") }
        try await wait(until: "it is told") { phone.core.count("/_read chat items @1 1") == 1 }
        let removed = try await Shell.script(#"rm "$FILE""#, environment: ["FILE": path])
        #expect(removed.succeeded, "\(removed.errors)")
        #expect(access(path, F_OK) != 0)
        try await place.leave()
        #expect(phone.core.commands.filter { $0.hasPrefix("/_delete") } == ["/_delete item @1 1 internal"])
        #expect(phone.core.count("/_read") == 1)
        #expect(phone.files["there.txt"] != nil)
    }

    @Test func fileGoneFromThePhoneShowsNoPathOfIt() async throws {
        let (place, phone) = (try PhoneMountPlace(), try Self.phone())
        phone.remove("here.txt")
        try await place.mount()
        try phone.connect(to: try await place.link())
        try await place.waitUntilMounted()
        let path = place.folder.path("Phone/bob/here.txt")
        try await wait(until: "its files are shown") { access(path, F_OK) == 0 }
        let gone = try await place.content("bob/here.txt")
        #expect(!gone.succeeded)
        let error = try ExtendedAttribute.text("user.chatfs.error", of: path)
        #expect(error?.contains("no longer exists") == true, "\(error ?? "no error")")
        #expect(try await place.content("bob/there.txt").output == "there")
        let daemon = try #require(place.daemon)
        try await place.leave()
        #expect(!(daemon.output + daemon.errors + gone.errors + (error ?? "")).contains("/data/user"))
    }

    @Test func phonesOfOneComputerAreSeparate() async throws {
        let (home, search) = (try PhoneMountPlace(), try AnnouncementSearch())
        let (work, first, second) = (try PhoneMountPlace(beside: home), try Self.phone(), try Self.phone())
        // The same chat, message and file numbers on both.
        second.put(Array("work".utf8), as: "here.txt")
        try await home.mount(["--name", "home"])
        try first.connect(to: try await home.link())
        try await home.waitUntilMounted()
        try await work.mount(["--policy", "phone-only"], core: "phone:work")
        try second.connect(to: try await work.link())
        try await work.waitUntilMounted()
        #expect(work.daemon?.errors.contains("uses its storage") == false)
        for place in [home, work] {
            let path = place.folder.path("Phone/bob/there.txt")
            try await wait(until: "its files are shown") { access(path, F_OK) == 0 }
        }
        #expect(try await home.content("bob/here.txt").output == "here")
        #expect(try await work.content("bob/here.txt").output == "work")
        let source = try work.folder.write(Array("mine".utf8), to: "mine.txt")
        let copied = try await Shell.script(
            #"cp "$FROM" "$TO""#,
            environment: ["FROM": source, "TO": work.folder.path("Phone/bob/mine.txt")])
        #expect(copied.succeeded)
        try await wait(until: "it is sent") { second.core.count("/_send @1") == 1 }
        #expect(first.core.count("/_send") == 0)
        #expect(
            try await home.run(["phone", "list"]).output.split(separator: "\n").map { $0.prefix(15) }
                == ["home\tTelephone\t", "work\tTelephone\t"])
        // Which one is meant must be given.
        let folders = try home.folder.names(in: "data")
        let unnamed = try await home.run(["phone", "save", "--all", home.folder.path("Backup")])
        #expect(!unnamed.succeeded && unnamed.errors.contains("several phones are known"))
        #expect(try home.folder.names(in: "data").sorted() == folders.sorted())
        // One is forgotten while the other is connected, which stays known.
        try await home.leave()
        #expect(try await home.run(["phone", "forget", "home"]).succeeded)
        #expect(try await work.content("bob/there.txt").output == "there")
        try await work.leave()
        #expect(try await work.run(["phone", "list"]).output.hasPrefix("work\tTelephone\t"))
        #expect(try home.folder.names(in: "data").count { $0.hasPrefix("official-") } == 1)
        try await work.mount(core: "phone:work")
        try await work.waitUntilMounted()
        #expect(try await work.content("bob/here.txt").output == "work")
        try second.connect(to: try await search.link(for: second.keys))
        try await work.leave()
    }

    /// A kill between the move of the folder and the change of the stored name.
    @Test func interruptedRenameCanBeRepeated() async throws {
        let (place, phone) = (try PhoneMountPlace(), try Self.phone())
        try await place.mount(["--name", "mine", "--no-encryption"])
        try phone.connect(to: try await place.link())
        try await place.waitUntilMounted()
        try await place.leave()
        #expect(try await place.run(["phone", "rename", "mine", "other"]).succeeded)
        let folder = try #require(try place.folder.names(in: "data").first { $0.hasPrefix("official-") })
        let store = try PairingStore(folder: place.folder.path("data/" + folder), key: nil, name: "mine")
        try store.rename(to: "mine")
        store.close()
        #expect(try await place.run(["phone", "rename", "mine", "other"]).succeeded)
        #expect(try await place.run(["phone", "list"]).output.hasPrefix("other\tTelephone\t"))
    }

    @Test func keepRulesBringFilesHere() async throws {
        let (place, phone) = (try PhoneMountPlace(), try Self.phone())
        phone.core.whenReceiving { [weak phone] message in
            phone?.put(Array("later".utf8), as: message.name)
            phone?.core.complete(message.id, path: message.name, cryptoArguments: nil)
        }
        phone.core.change { state in
            var offered = ScriptedMessage(id: 3, contact: 1, name: "offered.txt", size: 5)
            offered.time = Int64(time(nil)) - 3600
            state.history.append(offered)
        }
        try await place.mount()
        try phone.connect(to: try await place.link())
        try await place.waitUntilMounted()
        #expect(
            try await place.run(["keep", "set", "--what", "all", "--min-free", "0", "--core", "phone"])
                .succeeded)
        for name in ["here.txt", "there.txt", "offered.txt"] {
            try await wait(until: "\(name) is here") {
                (try? place.state(name)).map { ["stored", "hydrated"].contains($0) } == true
            }
        }
        #expect(phone.core.count("/freceive 1003") == 1 && phone.count(of: "getFile") == 3)
        try await place.leave()
    }

    @Test func keepRulesReceiveSoonExpiredFilesFirst() async throws {
        let (place, phone) = (try PhoneMountPlace(), try Self.phone())
        // As many as are received at once.
        let begun = Lock<[ScriptedMessage]>([])
        phone.core.whenReceiving { [weak phone] message in
            let ready = begun.withLock { begun in
                begun.append(message)
                return begun.count < 4 ? [] : begun.count == 4 ? begun : [message]
            }
            for message in ready {
                phone?.put(Array("later".utf8), as: message.name)
                phone?.core.complete(message.id, path: message.name, cryptoArguments: nil)
            }
        }
        phone.core.change { state in
            // Those with high numbers expire first.
            for id in Int64(3)...8 {
                var offered = ScriptedMessage(id: id, contact: 1, name: "\(id).txt", size: 5)
                offered.time = Int64(time(nil)) - id * 5 * 3600
                state.history.append(offered)
            }
        }
        try await place.mount()
        try phone.connect(to: try await place.link())
        try await place.waitUntilMounted()
        #expect(
            try await place.run(["keep", "set", "--what", "all", "--min-free", "0", "--core", "phone"])
                .succeeded)
        try await wait(until: "all are received") { begun.withLock { $0.count } == 6 }
        #expect(Set(begun.withLock { $0.prefix(4).map(\.id) }) == [5, 6, 7, 8])
        try await place.leave()
    }

    @Test func knownPhonesAreListedRenamedAndForgotten() async throws {
        let (place, phone) = (try PhoneMountPlace(), try Self.phone())
        try await place.mount(["--name", "mine"])
        try phone.connect(to: try await place.link())
        try await place.waitUntilMounted()
        #expect(!(try await place.run(["phone", "forget", "mine"]).succeeded), "it is mounted")
        try await place.leave()
        let folders = try place.folder.names(in: "data").filter { $0.hasPrefix("official-") }
        let pairing = try place.folder.read("data/\(try #require(folders.first))/pairing.sqlite")
        #expect(pairing.starts(with: Array("ChatFS-pages".utf8)))
        #expect(try await place.run(["phone", "list"]).output.hasPrefix("mine\tTelephone\t"))
        #expect(try await place.run(["phone", "rename", "mine", "other"]).succeeded)
        #expect(try await place.run(["phone", "list"]).output.hasPrefix("other\tTelephone\t"))
        // Nothing is missed.
        try await place.mount(["--name", "other"])
        try await place.waitUntilMounted()
        try await place.leave()
        // An interrupted removal leaves a folder without its pairing.
        let folder = try #require(
            try place.folder.names(in: "data").first { $0.hasPrefix("official-") })
        #expect(unlink(place.folder.path("data/\(folder)/pairing.sqlite")) == 0)
        #expect(try await place.run(["phone", "forget", "other"]).succeeded)
        #expect(try await place.run(["phone", "list"]).output.isEmpty)
        let left = try place.folder.names(in: "data").filter { $0.hasPrefix("official-") }
        #expect(left.isEmpty)
        #expect(try await place.run(["verify"]).succeeded)
    }

    @Test func savesOnlyNewFilesInClear() async throws {
        let (place, phone) = (try PhoneMountPlace(), try Self.phone())
        for isFirst in [true, false] {
            let saving = try await ChatFSProcess.start(
                [
                    "phone", "save", "--all", place.folder.path("Backup"), "--listen", "127.0.0.1", "--data",
                    place.folder.path("data"),
                ], environment: place.environment)
            let link = try await wait(for: "a link") { saving.lines.first { $0.hasPrefix("xrcp:/") } }
            try phone.connect(to: link)
            #expect(try await saving.ending(within: .seconds(60)) == .code(0), "\(saving.errors)")
            #expect(phone.count(of: "getFile") == 2, isFirst ? "each once" : "nothing again")
        }
        #expect(try place.folder.read("Backup/bob/here.txt") == Array("here".utf8))
        #expect(try place.folder.read("Backup/bob/there.txt") == Array("there".utf8))
        #expect(try place.folder.names(in: "Backup").contains("manifest.json"))
    }
}
