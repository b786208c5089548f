import Base
import Cryptography
import Glibc
import KeySlots
import Posix
import Store
import TestSupport
import Testing

@testable import Unlocking

/// Encrypts a plain data directory without loss at any interruption.
@Suite struct FolderEncryptionTests {
    private func encryption(_ fixture: KeyedFixture) -> FolderEncryption {
        FolderEncryption(fixture.keyed, lockFile: KeyedFixture.lockFile)
    }

    @Test func aFailedWipeIsAnError() throws {
        let folder = try TemporaryFolder()
        try FolderEncryption.wipe(folder.path("none"))
        try #require(symlink("loop", folder.path("loop")) == 0)
        for path in ["loop", "loop/secret"] {
            #expect(throws: SystemError.self, "\(path)") { try FolderEncryption.wipe(folder.path(path)) }
        }
        try folder.write([1, 2, 3], to: "secret")
        try FolderEncryption.wipe(folder.path("secret"))
        #expect(try folder.names() == ["loop"])
    }

    @Test func aFullDiskDoesNotKeepAWipedFile() async throws {
        let folder = try TemporaryFolder()
        let path = try folder.write([UInt8](repeating: 7, count: 100_000), to: "secret")
        // No file may exceed 64 KiB.
        await #expect(processExitsWith: .exitCode(28)) { [path = path as String] in
            signal(SIGXFSZ, SIG_IGN)
            var limit = rlimit(rlim_cur: 64 << 10, rlim_max: 64 << 10)
            setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
            do throws(SystemError) {
                try FolderEncryption.wipe(path)
                exit(28)
            } catch {
                exit(1)
            }
        }
        #expect(try folder.names().isEmpty)
    }

    @Test func encryptionKeepsDataAndLeavesNothingReadable() throws {
        let fixture = try KeyedFixture(rows: 300)
        let before = try fixture.contents(key: nil)
        #expect(try fixture.keyed.condition == .plain)
        try encryption(fixture).encrypt(for: .someKey)
        #expect(try fixture.keyed.condition == .encrypted)
        let key = try fixture.keyed.unlock(with: Ways(named: .someKey))
        #expect(try fixture.contents(key: key) == before)
        #expect(try fixture.filesWithMarks().isEmpty)
        #expect(try fixture.folder.read("profiles/1/other.sqlite") == Array("nothing".utf8))
        let expected = KeyedFixture.databases + ["in-use", "keys", "profiles/1/other.sqlite"]
        #expect(try fixture.files().sorted() == expected.sorted())
        // A second run changes nothing.
        try encryption(fixture).encrypt(for: .passphrase("another"))
        #expect(try fixture.keyed.slots().slots.count == 1)
    }

    @Test func plainDatabasesAreOverwritten() throws {
        let fixture = try KeyedFixture(rows: 300)
        let plain = try KeyedFixture.databases.map { name in
            try OpenFile(fixture.folder.path(name), flags: O_RDONLY)
        }
        try encryption(fixture).encrypt(for: .someKey)
        for file in plain {
            let size = Int(try file.size())
            let bytes = try file.read(count: size, at: 0)
            #expect(size > 4096 && bytes.count == size && bytes.allSatisfy { $0 == 0 })
        }
    }

    /// Ends itself at the n-th step.
    private static func encrypt(_ path: String, killedAt last: Int) throws {
        let steps = Lock(0)
        try FolderEncryption(
            KeyedFolder(path: path, database: "chatfs.db"), lockFile: KeyedFixture.lockFile,
            step: { _ in
                let number = steps.withLock {
                    $0 += 1
                    return $0
                }
                if number == last { kill(getpid(), SIGKILL) }
            }
        ).encrypt(for: .someKey)
    }

    /// The list, a copy of each database, the keys, their name, three steps for each database, the end.
    @Test(arguments: 1...(1 + 3 + 2 + 9 + 1))
    func aKillLeavesAFolderThatOpens(_ last: Int) async throws {
        let fixture = try KeyedFixture()
        let before = try fixture.contents(key: nil)
        let path = fixture.folder.path
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String, last = last as Int] in
            try FolderEncryptionTests.encrypt(path, killedAt: last)
        }
        try encryption(fixture).finish()
        #expect(!encryption(fixture).isUnderWay)
        if try fixture.keyed.condition == .plain {
            #expect(last <= 5)
            #expect(try fixture.contents(key: nil) == before)
            let names = KeyedFixture.databases + ["in-use", "profiles/1/other.sqlite"]
            #expect(try fixture.files().sorted() == names.sorted())
            try encryption(fixture).encrypt(for: .someKey)
        }
        let key = try fixture.keyed.unlock(with: Ways(named: .someKey))
        #expect(try fixture.contents(key: key) == before)
        #expect(try fixture.filesWithMarks().isEmpty)
    }

    @Test func aFolderInUseIsNotEncrypted() throws {
        let fixture = try KeyedFixture()
        let before = try fixture.contents(key: nil)
        let use = try OpenFile(
            fixture.folder.path(KeyedFixture.lockFile), flags: O_RDWR | O_CREAT, mode: 0o600)
        #expect(try use.tryLock(shared: true))
        let error = #expect(throws: UnlockingError.self) { try encryption(fixture).encrypt(for: .someKey) }
        #expect(error?.code == .busy)
        #expect(try fixture.keyed.condition == .plain)
        #expect(try fixture.contents(key: nil) == before)
        withExtendedLifetime(use) {}
    }

    @Test func aFullDiskIsReportedAndTheNextAttemptWorks() async throws {
        let fixture = try KeyedFixture(rows: 400)
        let before = try fixture.contents(key: nil)
        let path = fixture.folder.path
        // No file may exceed 64 KiB.
        await #expect(processExitsWith: .exitCode(28)) { [path = path as String] in
            signal(SIGXFSZ, SIG_IGN)
            var limit = rlimit(rlim_cur: 64 << 10, rlim_max: 64 << 10)
            setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
            do throws(UnlockingError) {
                try FolderEncryption(
                    KeyedFolder(path: path, database: "chatfs.db"), lockFile: KeyedFixture.lockFile
                ).encrypt(for: .someKey)
            } catch {
                exit(error.code == .diskFull ? 28 : 1)
            }
        }
        #expect(try fixture.keyed.condition == .plain)
        #expect(try fixture.contents(key: nil) == before)
        #expect(try fixture.files().allSatisfy { !$0.hasSuffix(".sealing") })
        try encryption(fixture).encrypt(for: .someKey)
        #expect(
            try fixture.contents(key: fixture.keyed.unlock(with: Ways(named: .someKey))) == before)
    }

    /// In a changed list, characters that merge with a slash do not lead outside the folder.
    @Test(arguments: [
        "a\u{600}/../../outside", "../outside", "profiles/../../outside", "/outside", "x\n../outside",
    ])
    func nothingBeyondTheFolderIsTouched(_ name: String) throws {
        let outer = try TemporaryFolder()
        for folder in ["data", "data/a\u{600}", "data/profiles"] { _ = try outer.makeFolder(folder) }
        let list = name.isAbsolutePath ? outer.path + name : name
        try outer.write(Array(list.utf8), to: "data/encrypting")
        for suffix in ["", "-wal", "-shm"] { try outer.write([1], to: "outside.sealing" + suffix) }
        let keyed = KeyedFolder(path: outer.path("data"), database: "chatfs.db")
        let encryption = FolderEncryption(keyed, lockFile: KeyedFixture.lockFile)
        #expect(encryption.isUnderWay)
        try encryption.finish()
        #expect(!encryption.isUnderWay)
        #expect(
            try outer.names().sorted() == [
                "data", "outside.sealing", "outside.sealing-shm", "outside.sealing-wal",
            ])
    }

    @Test func databasesAreFoundInFoldersOfAnyName() throws {
        let fixture = try KeyedFixture(rows: 3)
        let names = ["\u{301}a", "a\u{600}"]
        for name in names {
            _ = try fixture.folder.makeFolder(name)
            try KeyedFixture.fill(fixture.folder.path("\(name)/\(name).sqlite"), rows: 3)
        }
        try encryption(fixture).encrypt(for: .someKey)
        let key = try fixture.keyed.unlock(with: Ways(named: .someKey))
        for name in names {
            let path = fixture.folder.path("\(name)/\(name).sqlite")
            #expect(try !KeyedFixture.content(of: path, key: key).isEmpty)
        }
        #expect(try fixture.filesWithMarks().isEmpty)
    }

    @Test func aDamagedDatabaseStopsTheEncryption() throws {
        let fixture = try KeyedFixture(rows: 300)
        let path = fixture.folder.path(KeyedFixture.databases[1])
        let file = try OpenFile(path, flags: O_RDWR)
        for page in 2..<8 { try file.write([UInt8](repeating: 0xA5, count: 4096), at: UInt64(page * 4096)) }
        let before = try fixture.folder.read(KeyedFixture.databases[1])
        let error = #expect(throws: UnlockingError.self) { try encryption(fixture).encrypt(for: .someKey) }
        #expect(error?.code == .database)
        #expect(try fixture.keyed.condition == .plain)
        #expect(try fixture.folder.read(KeyedFixture.databases[1]) == before)
    }
}
