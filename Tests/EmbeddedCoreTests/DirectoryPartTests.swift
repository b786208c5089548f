import Base
import ChatCore
import Cryptography
import Glibc
import Posix
import Store
import TestSupport
import Testing

@testable import EmbeddedCore

/// Opening a data directory with a missing part fails and names the part.
@Suite struct DirectoryPartTests {
    private let folder: TemporaryFolder
    private let key = SecretBytes([UInt8](repeating: 9, count: 32))
    private var path: String { folder.path("data") }

    init() throws { folder = try TemporaryFolder() }

    private func open(mayLackParts: Bool = false) throws(ChatError) -> DataDirectory {
        try DataDirectory(path, key: key, mayLackParts: mayLackParts)
    }

    /// A directory with every possible database.
    private func fill() throws {
        let directory = try open()
        let profile = try directory.createProfile("alice")
        _ = try directory.folders(of: profile)
        let core = "official-0123456789abcdef"
        let places =
            ProfileFolders.databases.map { "profiles/\(profile.id)/\($0)" } + ["\(core)/approvals.sqlite"]
            + OfficialFolder.databases.map { "\(core)/profile-7/\($0)" }
        for place in places {
            var parent = try OpenFile(path, flags: O_RDONLY | O_DIRECTORY)
            for name in place.pathNames.dropLast() { parent = try PrivateFolder.folder(name, in: parent) }
            try Database(
                path: "\(path)/\(place)", migrations: [Migration("a", "CREATE TABLE a (b TEXT) STRICT")],
                key: key
            ).close()
        }
        try directory.noteParts()
        #expect(try directory.missingParts().isEmpty)
        #expect(try directory.store.read { try $0.parts.all() } == places.sorted())
    }

    @Test func missingDatabaseIsReportedUntilGivenUp() throws {
        try fill()
        for place in try open().store.read({ try $0.parts.all() }) {
            let aside = folder.path("aside")
            #expect(rename("\(path)/\(place)", aside) == 0)
            let error = #expect(throws: ChatError.self) { _ = try open() }
            #expect(error?.code == .storage && error?.sentence.contains(place) == true)
            #expect(error?.sentence.contains("verify --fix") == true)
            #expect(access("\(path)/\(place)", F_OK) != 0)
            #expect(try open(mayLackParts: true).missingParts() == [place])
            // An empty file counts as missing.
            try folder.write([], to: "data/\(place)")
            #expect(throws: ChatError.self) { _ = try open() }
            #expect(rename(aside, "\(path)/\(place)") == 0)
            _ = try open()
        }
        let place = "profiles/1/keep.sqlite"
        #expect(unlink("\(path)/\(place)") == 0)
        try open(mayLackParts: true).giveUp(parts: [place])
        #expect(try open().missingParts().isEmpty)
    }

    @Test func missingFirstDatabaseIsNotRecreated() throws {
        let directory = try open()
        _ = try directory.createProfile("alice")
        for name in ["chatfs.db", "chatfs.db-wal", "chatfs.db-shm"] { unlink("\(path)/\(name)") }
        let error = #expect(throws: ChatError.self) { _ = try open() }
        #expect(error?.sentence.contains("lacks chatfs.db (its profiles") == true)
        #expect(error?.sentence.contains("chatfs import") == true)
        #expect(access("\(path)/chatfs.db", F_OK) != 0)
        try folder.write([], to: "data/chatfs.db")
        #expect(throws: ChatError.self) { _ = try open() }
    }

    @Test func otherDatabasesRevealMissingFirstOne() throws {
        try fill()
        for name in ["chatfs.db", "chatfs.db-wal", "chatfs.db-shm", "made", "keys"] {
            unlink("\(path)/\(name)")
        }
        let error = #expect(throws: ChatError.self) { try DataDirectory.requireParts(path) }
        #expect(error?.sentence.contains("keys (") == true && error?.sentence.contains("chatfs.db (") == true)
    }

    @Test func missingMarkerIsNamed() throws {
        _ = try open()
        #expect(unlink("\(path)/\(PrivateFolder.marker)") == 0)
        let error = #expect(throws: ChatError.self) { _ = try open() }
        #expect(error?.sentence.contains(PrivateFolder.marker) == true)
        // A foreign folder with the same name is not ours.
        _ = try folder.makeFolder("other")
        try folder.write([1], to: "other/keys")
        try DataDirectory.requireParts(folder.path("other"))
    }

    @Test func renewablePartsAreNotReported() throws {
        try fill()
        for name in ["version", "made", "in-use", "bell"] { #expect(unlink("\(path)/\(name)") == 0) }
        for name in ["files", "staging", "incoming"] {
            #expect(rmdir("\(path)/profiles/1/\(name)") == 0)
        }
        let directory = try open()
        #expect(try directory.profiles().map(\.displayName) == ["alice"])
        #expect(access("\(path)/made", F_OK) == 0 && access("\(path)/version", F_OK) == 0)
    }

    @Test func interruptedCreationIsRepeated() throws {
        _ = try open()
        // In order of creation.
        let steps = [".chatfs-folder", "version", "keys", "in-use", "profiles", "bell"]
        for count in 1...steps.count {
            let name = "partly-\(count)"
            _ = try folder.makeFolder(name)
            for step in steps.prefix(count) where step != "profiles" {
                let bytes = step == "keys" ? [] : try folder.read("data/\(step)")
                try folder.write(bytes, to: "\(name)/\(step)")
            }
            if count >= 5 { _ = try folder.makeFolder("\(name)/profiles") }
            try DataDirectory.requireParts(folder.path(name))
            let directory = try DataDirectory(folder.path(name), key: key)
            _ = try directory.createProfile("alice")
        }
    }

    @Test func newProfileNeverReusesOrphanedFolder() throws {
        let directory = try open()
        _ = try folder.makeFolder("data/profiles/1")
        try folder.write([1], to: "data/profiles/1/names.sqlite")
        let error = #expect(throws: ChatError.self) { _ = try directory.createProfile("alice") }
        #expect(error?.code == .storage && error?.sentence.contains("profiles/1") == true)
        #expect(try directory.profiles().isEmpty)
        #expect(unlink(folder.path("data/profiles/1/names.sqlite")) == 0)
        _ = try directory.createProfile("alice")
    }

    @Test func deletedProfileLeavesNoListedParts() throws {
        try fill()
        let directory = try open()
        try directory.store.change { tables in try tables.profiles.remove(1) }
        #expect(try directory.missingParts().isEmpty)
        #expect(try directory.store.read { try $0.parts.all() }.allSatisfy { $0.hasPrefix("official-") })
        // Its files are removed after its rows; a directory opened in between must not list them.
        try directory.noteParts()
        #expect(try directory.store.read { try $0.parts.all() }.allSatisfy { $0.hasPrefix("official-") })
    }

    @Test func pathsMapToParts() {
        #expect(DirectoryPart(at: "profiles/12/keep.sqlite")?.absence == .replaceable)
        #expect(
            DirectoryPart(at: "official-0123456789abcdef/profile-3/outbox/journal.sqlite")?.place
                == "official-HASH/profile-N/outbox/journal.sqlite")
        #expect(DirectoryPart(at: "keys")?.absence == .refused)
        for path in ["", "profiles/x/keep.sqlite", "official-1/approvals.sqlite", "other"] {
            #expect(DirectoryPart(at: path) == nil)
        }
        #expect(Set(DirectoryPart.all.map(\.place)).count == DirectoryPart.all.count)
    }
}
