import Glibc
import TestSupport
import Testing

@testable import Posix

/// What lies where a private folder is wanted, or comes to lie in it.
@Suite("Folders that are not as they should be")
struct PrivateFolderDamageTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test(
        "a marker that says anything but the purpose is another's",
        arguments: ["cache", "cache\n\n", "Cache\n", "", "cach\n", "cache\nmore"])
    func marker(content: String) throws {
        let path = try folder.makeFolder("x")
        try folder.write(Array(content.utf8), to: "x/" + PrivateFolder.marker)
        #expect(throws: SystemError(code: EEXIST, operation: "use a folder made for something else")) {
            try PrivateFolder(path, purpose: "cache")
        }
        #expect(try folder.read("x/" + PrivateFolder.marker) == Array(content.utf8))
    }

    @Test("a marker as long as a book is not read")
    func longMarker() throws {
        let path = try folder.makeFolder("x")
        try folder.write([UInt8](repeating: 1, count: 257), to: "x/" + PrivateFolder.marker)
        #expect(throws: SystemError(code: EFBIG, operation: "read a file")) {
            try PrivateFolder(path, purpose: "cache")
        }
    }

    @Test("any right of anybody else is one too many", arguments: [0o701, 0o710, 0o704, 0o720, 0o777])
    func rights(mode: mode_t) throws {
        let path = try folder.makeFolder("x")
        chmod(path, mode)
        #expect(
            throws: SystemError(
                code: EPERM, operation: "use a folder that others can enter (want mode 0700)")
        ) { try PrivateFolder(path, purpose: "cache") }
        #expect(try folder.names(in: "x") == [])
    }

    @Test("a file on the way, or in its place, is said")
    func files() throws {
        try folder.write([1], to: "file")
        #expect(throws: SystemError(code: ENOTDIR, operation: "make a folder")) {
            try PrivateFolder(folder.path("file/inner"), purpose: "cache")
        }
        #expect(throws: SystemError(code: ENOTDIR, operation: "open a file")) {
            try PrivateFolder(folder.path("file"), purpose: "cache")
        }
        #expect(throws: SystemError.self) { try PrivateFolder("", purpose: "cache") }
    }

    @Test("folders on the way are made for the owner alone; those that were there stay as they are")
    func parents() throws {
        chmod(try folder.makeFolder("there"), 0o755)
        let made = try PrivateFolder(folder.path("there/a//b/"), purpose: "cache")
        #expect(try OpenFile(folder.path("there"), flags: O_RDONLY).status().st_mode & 0o777 == 0o755)
        #expect(try OpenFile(folder.path("there/a"), flags: O_RDONLY).status().st_mode & 0o777 == 0o700)
        #expect(try made.directory.status().st_mode & 0o777 == 0o700)
    }

    @Test(
        "a file is replaced in one step: the new bytes, nothing beside them, and who had it open has the old")
    func replaced() throws {
        let place = try PrivateFolder(folder.path("x"), purpose: "cache")
        try place.write([1, 2, 3], to: "state")
        let reader = try OpenFile(folder.path("x/state"), flags: O_RDONLY)
        try place.write([4], to: "state")
        #expect(try reader.readAll(limit: 10) == [1, 2, 3])
        #expect(try folder.read("x/state") == [4])
        #expect(try place.names() == [PrivateFolder.marker, "state"])
        // What a crash left of an earlier one is written over.
        try folder.write([9, 9, 9, 9, 9], to: "x/.state.new")
        try place.write([5], to: "state")
        #expect(try folder.read("x/state") == [5])
    }

    @Test("a link where the new file is written is not followed")
    func linkInside() throws {
        let place = try PrivateFolder(folder.path("x"), purpose: "cache")
        let target = try folder.write([1], to: "target")
        symlink(target, folder.path("x/.state.new"))
        #expect(throws: SystemError(code: ELOOP, operation: "open a file")) {
            try place.write([2], to: "state")
        }
        #expect(try folder.read("target") == [1])
    }

    @Test("a link in place of a folder inside is not entered")
    func linkedSubfolder() throws {
        let place = try PrivateFolder(folder.path("x"), purpose: "cache")
        symlink(try folder.makeFolder("target"), folder.path("x/sub"))
        #expect(throws: SystemError(code: ENOTDIR, operation: "open a file")) { try place.subfolder("sub") }
        try folder.write([1], to: "x/plain")
        #expect(throws: SystemError(code: ENOTDIR, operation: "open a file")) { try place.subfolder("plain") }
        let inner = try place.subfolder("inner")
        #expect(try inner.status().st_mode & 0o777 == 0o700)
        #expect(try place.subfolder("inner").status().st_ino == inner.status().st_ino)
    }

    @Test("what is kept is kept only where it was said, and a tree goes to its last leaf")
    func removed() throws {
        let place = try PrivateFolder(folder.path("x"), purpose: "cache")
        for name in ["a", "a/a", "a/a/a"] { _ = try folder.makeFolder("x/" + name) }
        for name in ["keep", "a/keep", "a/a/keep", "a/a/a/keep"] { try folder.write([1], to: "x/" + name) }
        symlink("nowhere", folder.path("x/a/broken"))
        mkfifo(folder.path("x/a/a/pipe"), 0o600)
        try PrivateFolder.removeContents(of: place.directory, keeping: ["keep"])
        #expect(try place.names() == ["keep"])
        try place.remove()
        #expect(try folder.names() == [])
        // Gone already: nothing to do.
        try place.remove()
    }

    @Test("a folder is removed with its marker; one that comes to lie there meanwhile stays with what it has")
    func replacedFolder() throws {
        let place = try PrivateFolder(folder.path("x"), purpose: "cache")
        try place.write([1], to: "state")
        rename(folder.path("x"), folder.path("moved"))
        _ = try folder.makeFolder("x")
        try folder.write([1], to: "x/letter")
        #expect(throws: SystemError(code: ENOTEMPTY, operation: "remove a folder")) { try place.remove() }
        #expect(try folder.names(in: "x") == ["letter"])
        #expect(try folder.names(in: "moved") == [])
    }
}
