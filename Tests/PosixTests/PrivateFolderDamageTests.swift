import Glibc
import TestSupport
import Testing

@testable import Posix

/// Other files in the place of a private folder, or inside it.
@Suite("Damaged private folders")
struct PrivateFolderDamageTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test(
        "a marker with another purpose is refused",
        arguments: ["cache", "cache\n\n", "Cache\n", "", "cach\n", "cache\nmore"])
    func marker(content: String) throws {
        let path = try folder.makeFolder("x")
        try folder.write(Array(content.utf8), to: "x/" + PrivateFolder.marker)
        #expect(throws: SystemError(code: EEXIST, operation: "use a folder made for something else")) {
            try PrivateFolder(path, purpose: "cache")
        }
        #expect(try folder.read("x/" + PrivateFolder.marker) == Array(content.utf8))
    }

    @Test("a long marker is refused")
    func longMarker() throws {
        let path = try folder.makeFolder("x")
        try folder.write([UInt8](repeating: 1, count: 257), to: "x/" + PrivateFolder.marker)
        #expect(throws: SystemError(code: EFBIG, operation: "read a file")) {
            try PrivateFolder(path, purpose: "cache")
        }
    }

    @Test("folders open to others are refused", arguments: [0o701, 0o710, 0o704, 0o720, 0o777])
    func rights(mode: mode_t) throws {
        let path = try folder.makeFolder("x")
        chmod(path, mode)
        #expect(
            throws: SystemError(
                code: EPERM, operation: "use a folder that others can enter (want mode 0700)")
        ) { try PrivateFolder(path, purpose: "cache") }
        #expect(try folder.names(in: "x") == [])
    }

    @Test("a file in the path has an error")
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

    @Test("created parents are private, existing ones unchanged")
    func parents() throws {
        chmod(try folder.makeFolder("there"), 0o755)
        let made = try PrivateFolder(folder.path("there/a//b/"), purpose: "cache")
        #expect(try OpenFile(folder.path("there"), flags: O_RDONLY).status().st_mode & 0o777 == 0o755)
        #expect(try OpenFile(folder.path("there/a"), flags: O_RDONLY).status().st_mode & 0o777 == 0o700)
        #expect(try made.directory.status().st_mode & 0o777 == 0o700)
    }

    @Test(
        "replacing a file is atomic")
    func replaced() throws {
        let place = try PrivateFolder(folder.path("x"), purpose: "cache")
        try place.write([1, 2, 3], to: "state")
        let reader = try OpenFile(folder.path("x/state"), flags: O_RDONLY)
        try place.write([4], to: "state")
        #expect(try reader.readAll(limit: 10) == [1, 2, 3])
        #expect(try folder.read("x/state") == [4])
        #expect(try place.names() == [PrivateFolder.marker, "state"])
        // The remains of a crash are overwritten.
        try folder.write([9, 9, 9, 9, 9], to: "x/.state.new")
        try place.write([5], to: "state")
        #expect(try folder.read("x/state") == [5])
    }

    @Test("a link in place of the new file is not followed")
    func linkInside() throws {
        let place = try PrivateFolder(folder.path("x"), purpose: "cache")
        let target = try folder.write([1], to: "target")
        symlink(target, folder.path("x/.state.new"))
        #expect(throws: SystemError(code: ELOOP, operation: "open a file")) {
            try place.write([2], to: "state")
        }
        #expect(try folder.read("target") == [1])
    }

    @Test("a link in place of a subfolder is not entered")
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

    @Test("exceptions count only at the top")
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
        // It is gone already, so nothing happens.
        try place.remove()
    }

    @Test("an interrupted removal can be resumed")
    func resumed() throws {
        let path = folder.path("x")
        let place = try PrivateFolder(path, purpose: "cache")
        for name in ["lock", "a"] { try folder.write([1], to: "x/" + name) }
        // This subfolder cannot be opened, by root neither without its capabilities.
        let closed = try folder.makeFolder("x/b")
        #expect(chmod(closed, 0) == 0)
        let isRoot = geteuid() == 0
        let setUser = unsafeBitCast(
            try #require(dlsym(nil, "setfsuid")), to: (@convention(c) (uid_t) -> CInt).self)
        if isRoot {
            #expect(chown(path, 65534, 65534) == 0)
            _ = setUser(65534)
        }
        #expect(throws: SystemError.self) { try place.remove(lock: "lock") }
        if isRoot {
            _ = setUser(0)
            #expect(chown(path, 0, 0) == 0)
        }
        #expect(try place.names() == [PrivateFolder.marker, "b", "lock"])
        #expect(chmod(closed, 0o700) == 0)
        try PrivateFolder(path, purpose: "cache").remove(lock: "lock")
        #expect(try folder.names() == [])
    }

    @Test("only the marked folder is removed")
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
