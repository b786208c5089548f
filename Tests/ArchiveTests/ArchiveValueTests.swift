import Base
import Cryptography
import Glibc
import Posix
import TestSupport
import Testing

@testable import Archive

/// Files that get their names when complete.
@Suite struct NewFilePlaceTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private struct Broken: Error {}

    @Test func existingEntriesAreNeverReplaced() throws {
        try folder.write([1], to: "file")
        _ = try folder.makeFolder("folder")
        #expect(symlink(folder.path("nowhere"), folder.path("link")) == 0)
        for name in ["file", "folder", "link"] {
            let error = #expect(throws: SystemError.self) {
                try NewFile.write(to: folder.path(name)) { _ in Issue.record("nothing is written") }
            }
            #expect(error?.code == EEXIST)
            #expect(throws: SystemError.self) { try NewFile.requireFree(folder.path(name)) }
        }
        try NewFile.requireFree(folder.path("other"))
        #expect(try folder.names() == ["file", "folder", "link"] && folder.read("file") == [1])
    }

    @Test func entriesCreatedMeanwhileAreKept() throws {
        let error = #expect(throws: SystemError.self) {
            try NewFile.write(to: folder.path("a")) { file in
                try file.write([1, 2], at: 0)
                try folder.write([9], to: "a")
            }
        }
        #expect(error?.code == EEXIST)
        #expect(try folder.read("a") == [9] && folder.names() == ["a"])
    }

    @Test func remainsOfKilledProcessesAreOverwritten() throws {
        try folder.write([UInt8](repeating: 7, count: 1000), to: ".a.new")
        try NewFile.write(to: folder.path("a")) { try $0.write([1, 2], at: 0) }
        #expect(try folder.read("a") == [1, 2] && folder.names() == ["a"])
    }

    @Test func concurrentWritersExcludeEachOther() throws {
        try NewFile.write(to: folder.path("a")) { file in
            try file.write([1], at: 0)
            let error = #expect(throws: SystemError.self) {
                try NewFile.write(to: folder.path("a")) { _ in Issue.record("it is busy") }
            }
            #expect(error?.code == EBUSY)
            // Another path is independent.
            try NewFile.write(to: folder.path("b")) { try $0.write([2], at: 0) }
        }
        #expect(try folder.read("a") == [1] && folder.read("b") == [2] && folder.names() == ["a", "b"])
    }

    @Test func throwingBodyLeavesNoFile() throws {
        #expect(throws: Broken.self) {
            try NewFile.write(to: folder.path("a")) { file in
                try file.write([1], at: 0)
                throw Broken()
            }
        }
        #expect(try folder.names() == [])
        let error = #expect(throws: SystemError.self) {
            try NewFile.write(to: folder.path("none/a")) { _ in }
        }
        #expect(error?.code == ENOENT)
    }

    @Test func linksAreNotFollowed() throws {
        try folder.write([5], to: "victim")
        #expect(symlink(folder.path("victim"), folder.path(".a.new")) == 0)
        #expect(throws: SystemError.self) {
            try NewFile.write(to: folder.path("a")) { try $0.write([1], at: 0) }
        }
        #expect(try folder.read("victim") == [5])
    }
}

/// Hard links to files of a data directory.
@Suite struct HeldFilesTests {
    private let folder: TemporaryFolder
    private let place: PrivateFolder
    private static let random = "00112233445566778899aabbccddeeff"
    private static let other = "ffeeddccbbaa99887766554433221100"

    init() throws {
        folder = try TemporaryFolder()
        for name in [
            "data", "data/profiles", "data/profiles/1", "data/profiles/1/files", "data/profiles/1/outbox",
            "data/profiles/1/outbox/spool", "data/profiles/1/staging", "data/profiles/1/staging/links-1",
        ] { _ = try folder.makeFolder(name) }
        place = try PrivateFolder(folder.path("held"), purpose: "tests")
    }

    private func held() -> HeldFiles { HeldFiles(of: folder.path("data"), in: place) }

    private func status(_ path: String) throws -> stat {
        var status = stat()
        try check("look at a file") { lstat(path, &status) }
        return status
    }

    @Test func heldFileSurvivesItsFirstName() throws {
        let name = "profiles/1/files/\(Self.random)"
        try folder.write([1, 2, 3], to: "data/" + name)
        var files = held()
        #expect(try files.hold(name) == nil)
        #expect(try status(folder.path("held/" + name)).st_nlink == 2)
        #expect(unlink(folder.path("data/" + name)) == 0)
        #expect(try folder.read("held/" + name) == [1, 2, 3])
        // Holding it again has no effect.
        #expect(try files.hold(name) == nil)
        #expect(try status(place.path + "/profiles/1/files").st_mode & 0o777 == 0o700)
    }

    @Test func missingFilesAreReported() throws {
        var files = held()
        #expect(try files.hold("profiles/1/files/\(Self.random)")?.code == ENOENT)
        try folder.write([1], to: "data/profiles/1/files/\(Self.other)")
        #expect(try files.hold("profiles/1/files/\(Self.other)") == nil)
        // A missing file can be held later.
        try folder.write([2], to: "data/profiles/1/files/\(Self.random)")
        #expect(try files.hold("profiles/1/files/\(Self.random)") == nil)
    }

    @Test func onlyKnownPlacesAreHeld() throws {
        let known = [
            "profiles/1/files/\(Self.random)", "profiles/1/outbox/spool/\(Self.random)",
            "profiles/1/outbox/spool/\(Self.random).second", "profiles/1/staging/links-1/\(Self.other)",
        ]
        for name in known + ["profiles/1/files/stray", "profiles/1/outbox/spool/short", "profiles/1/lock"] {
            try folder.write(Array(name.utf8), to: "data/" + name)
        }
        _ = try folder.makeFolder("data/profiles/somebody's")
        try folder.write([1], to: "data/profiles/a file")
        var files = held()
        try files.holdAll()
        for name in known { #expect(try folder.read("held/" + name) == Array(name.utf8)) }
        #expect(try folder.names(in: "held/profiles/1/files") == [Self.random])
        #expect(
            try folder.names(in: "held/profiles/1/outbox/spool") == [Self.random, Self.random + ".second"])
        #expect(try folder.names(in: "held/profiles") == ["1"])
        // Holding all again adds nothing. Unwanted links are deleted, and the original names stay.
        try files.holdAll()
        files.keepOnly([known[0]])
        #expect(try folder.names(in: "held/profiles/1/outbox/spool") == [])
        #expect(try folder.read("held/" + known[0]) == Array(known[0].utf8))
        for name in known { #expect(try status(folder.path("data/" + name)).st_size > 0) }
        // It can be held again.
        #expect(try files.hold(known[1]) == nil)
        #expect(try folder.read("held/" + known[1]) == Array(known[1].utf8))
    }

    @Test func unreadableFolderIsAnError() throws {
        #expect(rmdir(folder.path("data/profiles/1/files")) == 0)
        try folder.write([1], to: "data/profiles/1/files")
        var files = held()
        #expect(throws: SystemError.self) { try files.holdAll() }
        // A missing folder is empty.
        #expect(unlink(folder.path("data/profiles/1/files")) == 0)
        try files.holdAll()
    }
}

/// The pieces that read and write archives.
@Suite struct ArchivePieceTests {
    private func name(_ text: String) throws -> EntryName { try #require(EntryName(text)) }

    private func entries(_ file: OpenFile) throws -> [String: Int] {
        let reader = try ArchiveReader(file)
        var found: [String: Int] = [:]
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1000, alignment: 16)
        defer { buffer.deallocate() }
        while let name = try reader.next() {
            var size = 0
            while case let count = try reader.read(into: buffer), count > 0 { size += count }
            found[name.text] = size
        }
        return found
    }

    @Test func entriesAreReadInOrderWithTheManifestLast() throws {
        let stage = try ArchiveStage()
        let archive = try stage.archive([
            "a": ArchiveStage.bytes(2_500_000), "b": [], "c/d": ArchiveStage.bytes(1),
        ])
        let found = try entries(archive)
        #expect(found["a"] == 2_500_000 && found["b"] == 0 && found["c/d"] == 1)
        #expect(Set(found.keys) == ["a", "b", "c/d", Manifest.name, Manifest.tagName])
        // Unread entries are skipped, and the file can be read again.
        let reader = try ArchiveReader(archive)
        var names: [String] = []
        while let name = try reader.next() { names.append(name.text) }
        #expect(names == ["a", "b", "c/d", "manifest.json", "manifest.tag"])
        #expect(try entries(archive) == found)
    }

    @Test func smallEntryIsReadAloneUpToItsLimit() throws {
        let stage = try ArchiveStage()
        let archive = try stage.archive(["keys": ArchiveStage.bytes(100), "other": ArchiveStage.bytes(10)])
        let extraction = try Extraction(archive)
        #expect(try extraction.bytes(of: name("keys"), limit: 100) == ArchiveStage.bytes(100))
        #expect(try extraction.bytes(of: name("other"), limit: 1 << 20) == ArchiveStage.bytes(10))
        for (text, limit) in [("keys", 99), ("keys", 0), ("none", 1000)] {
            let error = #expect(throws: ArchiveError.self) {
                try extraction.bytes(of: name(text), limit: limit)
            }
            #expect(error?.code == .malformed)
        }
    }

    @Test func wrongDigestOrSizeIsDamage() async throws {
        let stage = try ArchiveStage()
        let archive = try await stage.forged(
            """
            z.writestr('a', b'abc'); z.writestr('b', b'ab'); z.writestr('c', b'abc')
            z.writestr('manifest.json', manifest([('a', 3, b'abd'), ('b', 3, b'abc'), ('c', 3, b'abc'),
                ('d', 3, b'abc')]))
            """)
        let extraction = try Extraction(archive)
        for text in ["a", "b", "d"] {
            let error = #expect(throws: ArchiveError.self, "\(text)") {
                try extraction.bytes(of: name(text), limit: 10)
            }
            #expect(error?.code == .damaged)
        }
        #expect(try extraction.bytes(of: name("c"), limit: 10) == Array("abc".utf8))
    }

    @Test func otherFilesAreMalformedArchives() throws {
        let stage = try ArchiveStage()
        for bytes in [[], [1], Array("PK".utf8), ArchiveStage.bytes(100_000), Array("PK\u{3}\u{4}".utf8)] {
            try stage.folder.write(bytes, to: "x")
            let error = #expect(throws: ArchiveError.self) { _ = try Extraction(stage.open("x")) }
            #expect(error?.code == .malformed, "\(bytes.count)")
        }
        let error = #expect(throws: ArchiveError.self) {
            _ = try Extraction(stage.open(".", O_RDONLY | O_DIRECTORY))
        }
        #expect(error?.code == .file || error?.code == .malformed)
    }

    @Test func truncatedSourceIsArchivedWithZeros() throws {
        let stage = try ArchiveStage()
        let target = try stage.open("a.zip", O_RDWR | O_CREAT)
        let writer = try ArchiveWriter(to: target, created: 5)
        let source = try stage.folder.write([UInt8](repeating: 7, count: 3 << 20), to: "source")
        var told: UInt64 = 0
        let condition = try writer.add(stage.open("source"), as: name("a")) { count in
            // After the first piece.
            if told == 0 { #expect(Glibc.truncate(source, 1 << 20) == 0) }
            told += count
        }
        #expect(condition == .incomplete && told == 3 << 20)
        try writer.finish(program: "tests", key: ArchiveStage.key)
        #expect(try stage.extract(target) == [])
        let bytes = try #require(try stage.tree()["a"])
        #expect(bytes.count == 3 << 20 && bytes.prefix(1 << 20).allSatisfy { $0 == 7 })
        #expect(bytes.dropFirst(1 << 20).allSatisfy { $0 == 0 })
    }

    @Test func tagDependsOnManifestAndKey() throws {
        let (key, other) = (ArchiveStage.key, SecretBytes([UInt8](repeating: 8, count: 32)))
        let tags = [
            Manifest.tag(of: [1], key: key), Manifest.tag(of: [2], key: key),
            Manifest.tag(of: [1], key: other),
        ]
        #expect(!tags[0].isEqual(to: tags[1]) && !tags[0].isEqual(to: tags[2]))
        #expect(tags[0].isEqual(to: Manifest.tag(of: [1], key: key)))
    }

    @Test func extractionContinuesWithMissingFiles() throws {
        let stage = try ArchiveStage()
        let files = [
            "a": ArchiveStage.bytes(5000), "b/c": ArchiveStage.bytes(10), "b/d": ArchiveStage.bytes(3),
        ]
        let archive = try stage.archive(files)
        #expect(try stage.extract(archive) == [])
        // As a killed process, a faulty disk and an attacker may leave it.
        try stage.folder.write([9], to: "out/.a.new")
        try stage.folder.write(ArchiveStage.bytes(4999), to: "out/a")
        try stage.folder.write(ArchiveStage.bytes(10, 9), to: "out/b/c")
        #expect(unlink(stage.folder.path("out/b/d")) == 0)
        #expect(try stage.extract(archive) == [])
        #expect(try stage.tree() == files)
        // A folder in place of a file is not deleted.
        #expect(unlink(stage.folder.path("out/a")) == 0)
        _ = try stage.folder.makeFolder("out/a")
        try stage.folder.write([1], to: "out/a/inside")
        let error = #expect(throws: ArchiveError.self) { try stage.extract(archive) }
        #expect(error?.code == .file)
        #expect(try stage.folder.read("out/a/inside") == [1])
        #expect(try stage.folder.names(in: "out") == ["a", "b"])
    }
}
