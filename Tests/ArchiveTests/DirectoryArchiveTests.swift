import Base
import ChatCore
import Cryptography
import EmbeddedCore
import Glibc
import KeySlots
import Posix
import Store
import TestSupport
import Testing

@testable import Archive

@Suite("Archives of data directories")
struct DirectoryArchiveTests {
    private let folder: TemporaryFolder
    private let directory: DataDirectory
    private let passphrase = SecretBytes(Array("correct horse".utf8))
    private static let cost = Argon2id.Cost(passes: 1, memory: 8 << 10) ?? .usual
    private static let large = ArchiveStage.bytes(400_000)

    /// Alice with a note and a message to bob, who received it.
    init() async throws {
        folder = try TemporaryFolder()
        directory = try DataDirectory(folder.path("data"))
        for name in ["alice", "bob"] { _ = try directory.createProfile(name) }
        try directory.connect("alice", "bob")
        let alice = try await EmbeddedCore.open(directory, profile: "alice")
        let chats = try await alice.chats()
        for (chat, name, bytes) in [
            ("Saved notes", "note.bin", Self.large), ("bob", "hello.txt", Array("hello bob".utf8)),
        ] {
            let place = try #require(chats.first { $0.displayName == chat })
            _ = try await alice.send(Self.message(bytes, name, in: alice.stagingFolder), to: place.reference)
        }
        await alice.shutDown()
        await (try EmbeddedCore.open(directory, profile: "bob")).shutDown()
    }

    private static func message(_ bytes: [UInt8], _ name: String, in folder: String) throws -> ComposedMessage
    {
        let path = folder + "/" + Hexadecimal.encode(SystemRandomSource().bytes(8))
        let arguments = CryptoFile.freshArguments()
        let writer = try CryptoFileWriter(
            file: OpenFile(path, flags: O_RDWR | O_CREAT | O_EXCL), arguments: arguments)
        try writer.append(bytes)
        try writer.finish()
        return ComposedMessage(
            id: name, fileName: name, size: UInt64(bytes.count),
            source: FileSourceLocation(path: path, arguments: arguments), content: MessageContent(kind: .file)
        )
    }

    private func archive(
        _ name: String = "a.zip", only selection: (profile: Profile, chats: [ChatReference])? = nil
    ) throws -> OpenFile {
        let snapshot = try Snapshot(of: directory, only: selection, passphrase: passphrase, cost: Self.cost)
        try NewFile.write(to: folder.path(name)) { try snapshot.write(to: $0, program: "tests") { _, _ in } }
        #expect(snapshot.missing == [])
        return try OpenFile(folder.path(name), flags: O_RDONLY)
    }

    @Test("stray files do not prevent an archive")
    func strayFile() throws {
        try folder.write([1], to: "data/profiles/.directory")
        let again = try restored(archive())
        for name in ["alice", "bob"] {
            #expect(try contents(again, name) == contents(directory, name))
        }
    }

    private func restored(_ archive: OpenFile, _ name: String = "again", isSealed: Bool = false) throws
        -> DataDirectory
    {
        let restoration = try Restoration(archive, to: folder.path(name), passphrase: passphrase)
        #expect(try restoration.run(isSealed: isSealed) { _, _ in } == [])
        let keys = folder.path(name) + "/keys"
        #expect((access(keys, F_OK) == 0) == isSealed)
        guard isSealed else { return try DataDirectory(folder.path(name)) }
        let key = try KeySlotsFile(path: keys).read().unlock(with: .passphrase(passphrase)).dataKey
        return try DataDirectory(folder.path(name), key: key)
    }

    /// Returns every file of a profile, decrypted, by chat and name.
    private func contents(_ directory: DataDirectory, _ profile: String) throws -> [String: [UInt8]] {
        let profile = try directory.profile(named: profile)
        var found: [String: [UInt8]] = [:]
        for chat in try directory.chats(of: profile) {
            for item in try directory.items(of: chat.reference, of: profile, before: nil, count: 99) {
                guard let file = item.file, let source = file.source, let arguments = source.arguments else {
                    continue
                }
                let reader = try CryptoFileReader(
                    file: OpenFile(source.path, flags: O_RDONLY), arguments: arguments)
                var bytes: [UInt8] = []
                try reader.decrypt { bytes.append(contentsOf: $0) }
                found["\(chat.displayName)/\(file.name)"] = bytes
            }
        }
        return found
    }

    @Test("profiles, chats and files are restored", arguments: [true, false])
    func whole(isSealed: Bool) async throws {
        let again = try restored(archive(), isSealed: isSealed)
        #expect(try again.profiles().map(\.displayName) == ["alice", "bob"])
        for name in ["alice", "bob"] { #expect(try contents(again, name) == contents(directory, name)) }
        #expect(try contents(again, "alice").count == 2)
        // The restored directory is usable.
        let core = try await EmbeddedCore.open(again, profile: "alice")
        let bob = try #require(try await core.chats().first { $0.displayName == "bob" })
        #expect(bob.sendingRefused == nil)
        await core.shutDown()
        #expect(access(directory.path + "/export", F_OK) != 0)
    }

    @Test("pinned and partial files are restored with all chats")
    func retained() async throws {
        let alice = try directory.profile(named: "alice")
        let path = "profiles/\(alice.id)"
        let place = try OpenFile(directory.path + "/" + path, flags: O_RDONLY | O_DIRECTORY)
        try PrivateFolder.write(Array("3\n12\n".utf8), to: "pinned", in: place)
        try PrivateFolder.write(Array("7\n".utf8), to: "unfinished", in: place)
        let again = try restored(archive())
        let copy = try OpenFile(again.path + "/" + path, flags: O_RDONLY | O_DIRECTORY)
        #expect(try OpenFile("pinned", flags: O_RDONLY, in: copy).readAll(limit: 99) == Array("3\n12\n".utf8))
        #expect(try OpenFile("unfinished", flags: O_RDONLY, in: copy).readAll(limit: 99) == Array("7\n".utf8))
        let chat = try #require(try directory.chats(of: alice).first)
        let part = try restored(archive("part.zip", only: (alice, [chat.reference])), "part")
        #expect(access(part.path + "/" + path + "/pinned", F_OK) != 0)
    }

    @Test("the archive reveals no names, texts or keys")
    func marks() async throws {
        let bytes = try OpenFile(folder.path("a.zip"), flags: O_RDWR | O_CREAT).size()
        #expect(bytes == 0)
        unlink(folder.path("a.zip"))
        let size = Int(try archive().size())
        let archived = try folder.read("a.zip")
        #expect(archived.count == size)
        for mark in ["alice", "hello.txt", "note.bin", "CREATE TABLE", "SQLite"] {
            #expect(!archived.contains(mark.utf8), "\(mark) is in it")
        }
    }

    @Test("an archive of one chat contains only that chat")
    func selection() async throws {
        let alice = try directory.profile(named: "alice")
        _ = try directory.createProfile("carol")
        try directory.connect("alice", "carol")
        let writing = try await EmbeddedCore.open(directory, profile: "alice")
        for chat in try await writing.chats() where chat.displayName != "Saved notes" {
            let text = ComposedText(id: chat.displayName, text: "words to \(chat.displayName)")
            try await writing.send(text, to: chat.reference)
        }
        await writing.shutDown()
        let bob = try #require(try directory.chats(of: alice).first { $0.displayName == "bob" })
        let again = try restored(archive(only: (alice, [bob.reference])))
        #expect(try again.profiles() == [alice])
        #expect(try contents(again, "alice") == ["bob/hello.txt": Array("hello bob".utf8)])
        let chats = try again.chats(of: alice)
        #expect(chats.map(\.displayName) == ["Saved notes", "bob"])
        #expect(chats.last?.sendingRefused != nil)
        #expect(try DatabaseCheck.problems(path: again.path + "/chatfs.db") == [])
        let database = String(
            decoding: try OpenFile(again.path + "/chatfs.db", flags: O_RDONLY).readAll(limit: 1 << 24),
            as: UTF8.self)
        #expect(database.contains("words to bob") && !database.contains("words to carol"))
        let core = try await EmbeddedCore.open(again, profile: "alice")
        #expect(try await Array(core.messageLogs().keys) == [bob.reference])
        await core.shutDown()
    }

    @Test("invalid imports change nothing")
    func refused() throws {
        let archive = try archive()
        #expect(throws: KeySlotsError.self) {
            try Restoration(archive, to: folder.path("again"), passphrase: SecretBytes([1]))
        }
        #expect(throws: ArchiveError.self) {
            try Restoration(archive, to: directory.path, passphrase: passphrase)
        }
        try folder.write([1, 2, 3], to: "no.zip")
        #expect(throws: ArchiveError.self) {
            try Restoration(
                OpenFile(folder.path("no.zip"), flags: O_RDONLY), to: folder.path("again"),
                passphrase: passphrase)
        }
        #expect(try folder.names() == ["a.zip", "data", "no.zip"])
    }

    @Test(
        "the snapshot keeps files deleted meanwhile"
    )
    func snapshot() async throws {
        let snapshot = try Snapshot(of: directory, passphrase: passphrase, cost: Self.cost)
        #expect(throws: ArchiveError.self) {
            try Snapshot(of: directory, passphrase: passphrase, cost: Self.cost)
        }
        let before = try contents(directory, "alice")
        let core = try await EmbeddedCore.open(directory, profile: "alice")
        for chat in try await core.chats() {
            let items = try await core.items(of: chat.reference, before: nil, count: 9)
            try await core.deleteItems(items.map(\.id), in: chat.reference, mode: .internal)
        }
        await core.shutDown()
        try NewFile.write(to: folder.path("a.zip")) {
            try snapshot.write(to: $0, program: "tests") { _, _ in }
        }
        let again = try restored(OpenFile(folder.path("a.zip"), flags: O_RDONLY))
        #expect(try contents(again, "alice") == before && before.count == 2)
    }

    @Test("unreferenced files are not archived")
    func strays() throws {
        let stray = directory.path + "/profiles/1/files/00112233445566778899aabbccddeeff"
        _ = try OpenFile(stray, flags: O_WRONLY | O_CREAT, mode: 0o600)
        let names = try Extraction(archive()).manifest.entries.map(\.name.text)
        #expect(names.contains("chatfs.db") && !names.contains { $0.hasSuffix("ccddeeff") }, "\(names)")
        struct Failure: Error {}
        #expect(throws: Failure.self) {
            try Snapshot(of: directory, only: nil, passphrase: passphrase, cost: Self.cost) {
                throw Failure()
            } afterMoment: {
            }
        }
        #expect(throws: Failure.self) {
            try Snapshot(
                of: directory, only: nil, passphrase: passphrase, cost: Self.cost,
                afterMoment: { throw Failure() })
        }
        #expect(access(directory.path + "/export", F_OK) != 0 && access(stray, F_OK) == 0)
    }

    @Test("missing and damaged files are reported")
    func damaged() throws {
        let source = try #require(
            try PrivateFolder.names(in: OpenFile(directory.path + "/profiles/1/files", flags: O_RDONLY)).first
        )
        unlink("\(directory.path)/profiles/1/files/\(source)")
        let snapshot = try Snapshot(of: directory, passphrase: passphrase, cost: Self.cost)
        try NewFile.write(to: folder.path("a.zip")) {
            try snapshot.write(to: $0, program: "tests") { _, _ in }
        }
        #expect(snapshot.missing.map(\.path) == ["profiles/1/files/\(source)"])
        let archive = try OpenFile(folder.path("a.zip"), flags: O_RDONLY)
        let restoration = try Restoration(archive, to: folder.path("again"), passphrase: passphrase)
        #expect(try restoration.run(isSealed: false) { _, _ in } == [])
        #expect(try DataDirectory(folder.path("again")).profiles().count == 2)
    }

    @Test("interrupted imports continue")
    func interrupted() throws {
        let archive = try archive()
        for step in 1...4 {
            let restoration = try Restoration(archive, to: folder.path("again"), passphrase: passphrase)
            // The state after a kill: the first files are complete, the next has a hidden name.
            let place = try PrivateFolder(folder.path("again.importing"), purpose: "chatfs import")
            let extraction = try Extraction(archive)
            _ = try extraction.run(into: place.directory) { _, _ in }
            for entry in extraction.manifest.entries.dropFirst(step) { unlink("\(place.path)/\(entry.name)") }
            #expect(!DataDirectory.exists(folder.path("again")))
            #expect(try restoration.run(isSealed: step % 2 == 0) { _, _ in } == [])
            #expect(access(folder.path("again.importing"), F_OK) != 0)
            #expect(access(folder.path("again/chatfs.db"), F_OK) == 0)
            try PrivateFolder.removeContents(of: OpenFile(folder.path("again"), flags: O_RDONLY), keeping: [])
            rmdir(folder.path("again"))
        }
    }

    @Test("an import keeps nothing of another archive's attempt", arguments: [true, false])
    func otherAttempt(isSealed: Bool) throws {
        let archive = try archive()
        // The state after another archive was damaged, or an import was killed while it made databases plain.
        _ = try PrivateFolder(folder.path("again.importing"), purpose: "chatfs import")
        let inner = ["profiles", "profiles/1", "profiles/1/files", "profiles/3", "official-0011223344556677"]
        for name in inner { _ = try folder.makeFolder("again.importing/" + name) }
        let others = [
            "chatfs.db-wal", "chatfs.db.plain", "profiles/1/links.sqlite", "profiles/1/agent.sqlite.plain",
            "profiles/1/files/00112233445566778899aabbccddeeff", "profiles/3/agent.sqlite",
            "official-0011223344556677/approvals.sqlite",
        ]
        for name in others { try folder.write([1], to: "again.importing/" + name) }
        let again = try restored(archive, isSealed: isSealed)
        for name in others.dropFirst() { #expect(access(again.path + "/" + name, F_OK) != 0, "\(name)") }
        #expect(try again.missingParts() == [])
        for name in ["alice", "bob"] { #expect(try contents(again, name) == contents(directory, name)) }
    }

    @Test("an import continues after its place was taken")
    func takenPlace() throws {
        let archive = try archive()
        let restoration = try Restoration(archive, to: folder.path("again"), passphrase: passphrase)
        // Another command makes a data directory there meanwhile.
        _ = try DataDirectory(folder.path("again"))
        #expect(throws: ArchiveError.self) { try restoration.run(isSealed: true) { _, _ in } }
        try PrivateFolder.removeContents(of: OpenFile(folder.path("again"), flags: O_RDONLY), keeping: [])
        rmdir(folder.path("again"))
        let again = try restored(archive, isSealed: true)
        for name in ["alice", "bob"] { #expect(try contents(again, name) == contents(directory, name)) }
        // A directory that was used is not taken for an import.
        _ = try DataDirectory(folder.path("other.importing"))
        let other = try Restoration(archive, to: folder.path("other"), passphrase: passphrase)
        #expect(throws: ArchiveError.self) { try other.run(isSealed: true) { _, _ in } }
        #expect(access(folder.path("other.importing/chatfs.db"), F_OK) == 0)
    }

    @Test("restored connections are marked")
    func restoredMark() throws {
        let agents = "data/profiles/1/agent.sqlite"
        try Database(
            path: folder.path(agents), migrations: [Migration("x", "CREATE TABLE x (y INTEGER) STRICT")],
            key: nil
        ).close()
        _ = try restored(archive())
        let mark = "again/profiles/%/" + ProfileFolders.restoredMark
        #expect(access(folder.path(mark.replacing("%", with: "1")), F_OK) == 0)
        #expect(access(folder.path(mark.replacing("%", with: "2")), F_OK) != 0)
    }

    @Test("a stopped export leaves nothing")
    func stopped() throws {
        struct Stop: Error {}
        for count in [1, 2, 5] {
            var left = count
            #expect(throws: Stop.self) {
                let snapshot = try Snapshot(of: directory, passphrase: passphrase, cost: Self.cost) {
                    left -= 1
                    if left == 0 { throw Stop() }
                }
                left = 1
                try NewFile.write(to: folder.path("a.zip")) {
                    try snapshot.write(to: $0, program: "tests") { _, _ in }
                }
            }
            #expect(access(directory.path + "/export", F_OK) != 0)
            #expect(try folder.names() == ["data"])
        }
    }

    @Test("the remains of a killed export are removed")
    func swept() throws {
        let export = "data/" + ExportFolder.name
        func open() throws -> PrivateFolder {
            try PrivateFolder(folder.path(export), purpose: ExportFolder.purpose)
        }
        func isLeft(seconds age: Int) throws -> Bool {
            let then = timespec(tv_sec: time(nil) - age, tv_nsec: 0)
            utimensat(AT_FDCWD, folder.path(export), [then, then], 0)
            _ = try DataDirectory(directory.path)
            return access(folder.path(export), F_OK) == 0
        }
        _ = try open()
        try folder.write([1], to: export + "/chatfs.db")
        #expect(try isLeft(seconds: 10))
        var lock: OpenFile? = try OpenFile(
            folder.path(export + "/" + ExportFolder.lockFile), flags: O_RDWR | O_CREAT)
        #expect(try lock?.tryLock() == true)
        #expect(try isLeft(seconds: 100))
        lock = nil
        #expect(try !isLeft(seconds: 100))
    }

    @Test("an import does not replace a link")
    func link() throws {
        let archive = try archive()
        _ = try folder.makeFolder("target")
        #expect(symlink(folder.path("target"), folder.path("link")) == 0)
        for place in ["link", "link/"] {
            let error = #expect(throws: ArchiveError.self) {
                try Restoration(archive, to: folder.path(place), passphrase: passphrase)
            }
            #expect(error?.sentence.contains("replace a link") == true)
        }
    }

    @Test("an unreadable folder stops the export")
    func unreadable() throws {
        _ = try folder.makeFolder("data/profiles/1/outbox")
        try folder.write([1], to: "data/profiles/1/outbox/spool")
        #expect(throws: SystemError.self) {
            try Snapshot(of: directory, passphrase: passphrase, cost: Self.cost)
        }
        #expect(unlink(folder.path("data/profiles/1/outbox/spool")) == 0)
        _ = try archive()
    }
}
