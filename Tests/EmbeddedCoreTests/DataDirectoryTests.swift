import Base
import ChatCore
import Glibc
import Network
import Posix
import SMP
import TestSupport
import Testing
import XFTP

@testable import EmbeddedCore
@testable import Store

@Suite struct DataDirectoryTests {
    @Test func directoryIsPrivate() async throws {
        let world = try World()
        try world.directory.connect("alice", "bob")
        let alice = try await world.open("alice")
        _ = try await alice.send(try alice.compose(pattern(100)), to: alice.chat(named: "bob"))
        let listing = try await Shell.run("/usr/bin/find", [world.directory.path, "-printf", "%y %m\\n"])
        let modes = Set(listing.output.split(separator: "\n"))
        #expect(modes == ["d 700", "f 600"])
        await alice.shutDown()
    }

    @Test func networkFilesystemIsRejectedWithoutTrace() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("shared/data")
        let error = #expect(throws: ChatError.self) {
            _ = try DataDirectory(path, clock: SystemWallClock(), network: { $0 == path ? "NFS" : nil })
        }
        #expect(error?.code == .storage)
        #expect(error?.sentence.contains("network filesystem (NFS)") == true)
        #expect(try folder.names().isEmpty)
        _ = try DataDirectory(path)
    }

    @Test func onlyProfileIsDefault() throws {
        let world = try World([])
        let error = #expect(throws: ChatError.self) { try world.directory.profile(named: nil) }
        #expect(error?.sentence.contains("chatfs profile create NAME") == true)
        let alice = try world.directory.createProfile("alice")
        #expect(try world.directory.profile(named: nil) == alice)
        let bob = try world.directory.createProfile("bob")
        #expect(throws: ChatError.self) { try world.directory.profile(named: nil) }
        #expect(try world.directory.profile(named: "bob") == bob)
        #expect(try world.directory.profiles() == [alice, bob])
    }

    @Test(
        arguments: [
            "", " ", " a", "a ", "a\nb", "a\0", "\u{202E}abc", "@me", "#1", "*", "a\u{200B}b", "\u{3164}",
            "a\u{AD}", "a\u{2060}", "a\u{200D}", "🏴\u{E0061}",
            String(repeating: "x", count: 65),
        ])
    func confusingNamesAreRejected(name: String) throws {
        let world = try World(["a", "b"])
        let error = #expect(throws: ChatError.self) { try world.directory.createProfile(name) }
        #expect(error?.code == .invalidCommand)
        #expect(throws: ChatError.self) { try world.directory.createGroup(name, members: ["a", "b"]) }
    }

    @Test(arguments: ["a", "Zoë", "👩‍👩‍👧 family", "日本", "a/b", String(repeating: "x", count: 64)])
    func ordinaryNamesAreUnique(name: String) throws {
        let world = try World([])
        #expect(try world.directory.createProfile(name).displayName == name)
        let error = #expect(throws: ChatError.self) { try world.directory.createProfile(name) }
        #expect(error?.code == .nameTaken)
    }

    @Test func normalizedNamesAreUnique() throws {
        let world = try World(["Zo\u{EB}"])
        let error = #expect(throws: ChatError.self) { try world.directory.createProfile("Zoe\u{308}") }
        #expect(error?.code == .nameTaken)
    }

    @Test func duplicateAndSelfConnectionsAreRejected() throws {
        let world = try World()
        try world.directory.connect("alice", "bob")
        #expect(throws: ChatError.self) { try world.directory.connect("bob", "alice") }
        #expect(throws: ChatError.self) { try world.directory.connect("alice", "alice") }
        #expect(throws: ChatError.self) { try world.directory.connect("alice", "zoe") }
    }

    @Test func newerDirectoryIsNotChanged() throws {
        let world = try World()
        try world.folder.write(Array("2\n".utf8), to: "data/version")
        let error = #expect(throws: ChatError.self) { try DataDirectory(world.folder.path("data")) }
        #expect(error?.code == .wrongVersion)
    }

    @Test func unreadableVersionIsNotOverwritten() throws {
        let world = try World()
        let path = world.folder.path("data/version")
        #expect(unlink(path) == 0 && symlink("version", path) == 0)
        let error = #expect(throws: ChatError.self) { try DataDirectory(world.folder.path("data")) }
        #expect(error?.code == .storage)
        var status = stat()
        #expect(lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK)
        // A missing version is written, as after a kill during creation.
        #expect(unlink(path) == 0)
        _ = try DataDirectory(world.folder.path("data"))
        #expect(try world.folder.read("data/version") == Array("1\n".utf8))
    }

    @Test func fullDiskDuringCreationIsReported() async throws {
        await #expect(processExitsWith: .success) {
            signal(SIGXFSZ, SIG_IGN)
            let folder = try TemporaryFolder()
            var limit = rlimit(rlim_cur: 0, rlim_max: rlim_t.max)
            try #require(setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0)
            let error = #expect(throws: ChatError.self) { try DataDirectory(folder.path("data")) }
            #expect(error?.code == .file(.noSpace), "\(error?.sentence ?? "")")
        }
    }

    @Test func deletedProfileIsReported() throws {
        // Its folder is removed too.
        let world = try World()
        defer { withExtendedLifetime(world) {} }
        let directory = try DataDirectory(world.folder.path("data"))
        let gone = Profile(id: 99, displayName: "gone")
        let fingerprint = [UInt8](repeating: 1, count: 32)
        let relay = try #require(RelayAddress("xftp://\(Base64URL.encode(fingerprint))@relay.example"))
        let server = try #require(ServerAddress(fingerprint: fingerprint, hosts: ["smp.example"]))
        let changes: [() throws -> Void] = [
            { try directory.addRelays([relay], to: gone) },
            { try directory.addMessagingServers([server], to: gone) },
            { try directory.approveRelays([relay], for: gone) },
        ]
        for change in changes {
            let error = #expect(throws: ChatError.self) { try change() }
            #expect(error?.code == .noSuchProfile)
        }
    }

    @Test func invalidProxyIsDamage() throws {
        let world = try World()
        let directory = try DataDirectory(world.folder.path("data"))
        let alice = try directory.profile(named: "alice")
        var choice = try directory.networkChoice(of: alice)
        choice.proxy = Endpoint("127.0.0.1:9050")
        try directory.setNetworkChoice(choice, of: alice)
        #expect(try directory.networkChoice(of: alice).proxy == choice.proxy)
        let sendsReceipts = try directory.store.read { try $0.profiles.sendsReceipts(alice.id) }
        #expect(sendsReceipts == choice.sendsReceipts)
        do {
            let database = try Connection(path: world.folder.path("data/chatfs.db"), key: nil)
            try database.execute("UPDATE profile SET proxy = 'nowhere' WHERE id = ?", alice.id)
        }
        let error = #expect(throws: ChatError.self) { try directory.networkChoice(of: alice) }
        #expect(error?.code == .storage)
    }

    @Test func unreadableDamagedCopiesThrow() async throws {
        let world = try World()
        await (try world.open("alice")).shutDown()
        try world.folder.write([], to: "data/profiles/1/damaged")
        #expect(await refusal { try await world.open("alice") } != nil)
        #expect(unlink(world.folder.path("data/profiles/1/damaged")) == 0)
        await (try world.open("alice")).shutDown()
    }

    @Test func newerDatabaseIsNotChanged() throws {
        let world = try World()
        try world.database().transaction { connection in
            try connection.execute("INSERT INTO schema_version (number, name) VALUES (99, 'future')")
        }
        let error = #expect(throws: ChatError.self) { try DataDirectory(world.folder.path("data")) }
        #expect(error?.code == .wrongVersion)
        #expect(error?.sentence.contains("newer") == true)
    }

    @Test func developmentDatabaseOpensWithoutConsent() async throws {
        let folder = try TemporaryFolder()
        let path = try folder.makeFolder("data")
        _ = try PrivateFolder(path, purpose: DataDirectory.purpose)
        try DevelopmentDatabase.make(
            "chatfs", at: path + "/chatfs.db",
            rows: """
                INSERT INTO profile (name, created) VALUES ('old', 1);
                INSERT INTO chat (profile, kind, updated) VALUES (1, 'notes', 1);
                INSERT INTO item (profile, chat, direction, sender, time, created, kind, preview, seconds, text)
                VALUES (1, 1, 'sent', 'old', 1, 1, 'file', '', 0, 'kept');
                INSERT INTO file (profile, item, name, size, transport, status, created)
                VALUES (1, 1, 'old.txt', 3, 'local', 'snd_complete', 1);
                """)
        let directory = try DataDirectory(path, mayMigrate: false)
        let names = try PrivateFolder.names(in: OpenFile(path, flags: O_RDONLY))
        #expect(!names.contains { $0.hasPrefix("chatfs-before-") })
        let core = try await EmbeddedCore.open(directory, profile: nil)
        #expect(core.profile.displayName == "old")
        let old = try await core.newest(in: "Saved notes")
        #expect(old.file?.name == "old.txt" && old.content.text == "kept")
        let item = try await core.send(try core.compose([7]), to: core.chat(named: "Saved notes"))
        #expect(try item.content() == [7])
        await core.shutDown()
    }

    @Test func foreignFolderIsRejected() throws {
        let folder = try TemporaryFolder()
        _ = try folder.makeFolder("full")
        try folder.write([1], to: "full/mine.txt")
        let error = #expect(throws: ChatError.self) { try DataDirectory(folder.path("full")) }
        #expect(error?.code == .storage)
        #expect(error?.sentence.contains("--data") == true)
        _ = try folder.makeFolder("open")
        chmod(folder.path("open"), 0o755)
        #expect(throws: ChatError.self) { try DataDirectory(folder.path("open")) }
    }

    @Test func processesCanCreateDirectoryConcurrently() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path("data")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<6 {
                group.addTask {
                    try await ThreadPool.shared.run {
                        _ = try DataDirectory(path).createProfile("p\(number)")
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try DataDirectory(path).profiles().count == 6)
    }
}
