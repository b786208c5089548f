import Base
import Glibc
import TestSupport
import Testing

@testable import Posix

@Suite("Watches, locks and attributes of files")
struct WatchedFilesTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test("every watch of a file reports its writes")
    func told() async throws {
        let (first, second) = (try folder.write([1], to: "first"), try folder.write([1], to: "second"))
        let told = Lock<[String: Int]>([:])
        let watch = try FileWatch.shared()
        let tokens = try [
            watch.add(first) { told.withLock { $0["a", default: 0] += 1 } },
            watch.add(first) { told.withLock { $0["b", default: 0] += 1 } },
            watch.add(second) { told.withLock { $0["c", default: 0] += 1 } },
        ]
        #expect(Set(tokens).count == 3)
        try folder.write([2], to: "first")
        try await wait(until: "both are told") { told.withLock { $0["a"] != nil && $0["b"] != nil } }
        #expect(told.withLock { $0["c"] } == nil)
        // One of two watches of a file ends; the other continues.
        watch.remove(tokens[0])
        let before = told.withLock { $0 }
        try folder.write([3], to: "first")
        try await wait(until: "the one that stayed is told") { told.withLock { $0["b"] != before["b"] } }
        watch.remove(tokens[0])
        watch.remove(tokens[1])
        try folder.write([4], to: "first")
        try folder.write([4], to: "second")
        // In the order of writes, so the first file's event would be here by now.
        try await wait(until: "the other file is told") { told.withLock { $0["c"] != nil } }
        #expect(told.withLock { $0["a"] } == before["a"])
        watch.remove(tokens[2])
    }

    @Test("a missing file cannot be watched")
    func missing() throws {
        #expect(throws: SystemError(code: ENOENT, operation: "watch a file")) {
            try FileWatch.shared().add(folder.path("none")) {}
        }
    }

    @Test("a folder lock has one holder")
    func folderLock() async throws {
        let place = try PrivateFolder(folder.path("cache"), purpose: "cache")
        let first = try #require(try FolderLock(place))
        #expect(try FolderLock(place) == nil)
        first.release()
        var second = try FolderLock(place)
        #expect(second != nil)
        #expect(try FolderLock(place) == nil)
        second = nil
        #expect(try FolderLock(place) != nil)
        #expect(try place.names() == [PrivateFolder.marker, "lock"])
    }

    @Test("attributes survive a round trip")
    func attributes() throws {
        let path = try folder.write([1], to: "file")
        do throws(SystemError) {
            try ExtendedAttribute.set("user.chatfs.test", to: [1, 2], of: path)
        } catch {
            // A filesystem without attributes.
            #expect(error.code == EOPNOTSUPP)
            #expect(try ExtendedAttribute.value("user.chatfs.test", of: path) == nil)
            return
        }
        #expect(try ExtendedAttribute.value("user.chatfs.test", of: path) == [1, 2])
        try ExtendedAttribute.set("user.chatfs.test", to: Array("ü".utf8), of: path)
        #expect(try ExtendedAttribute.text("user.chatfs.test", of: path) == "ü")
        try ExtendedAttribute.set("user.chatfs.test", to: [], of: path)
        #expect(try ExtendedAttribute.value("user.chatfs.test", of: path) == [])
        #expect(try ExtendedAttribute.value("user.chatfs.other", of: path) == nil)
        // A link has no attribute and is not followed.
        symlink(path, folder.path("link"))
        #expect(throws: SystemError.self) {
            try ExtendedAttribute.set("user.chatfs.test", to: [1], of: folder.path("link"))
        }
    }

    @Test("missing files are errors, missing support is not")
    func noAttributes() throws {
        #expect(throws: SystemError(code: ENOENT, operation: "read an attribute")) {
            try ExtendedAttribute.value("user.x", of: folder.path("none"))
        }
        #expect(try ExtendedAttribute.value("user.x", of: "/proc/self/stat") == nil)
    }
}
