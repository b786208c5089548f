import Glibc
import TestSupport
import Testing

@testable import Posix

@Suite struct OpenFileTests {
    private func unnamed() throws -> OpenFile {
        try OpenFile("/tmp", flags: unnamedFile | O_RDWR)
    }

    @Test func bytesSurviveARoundTrip() throws {
        let file = try unnamed()
        try file.write([1, 2, 3, 4], at: 10)
        #expect(try file.size() == 14)
        #expect(try file.read(count: 8, at: 9) == [0, 1, 2, 3, 4])
        #expect(try file.read(count: 8, at: 14) == [])
    }

    @Test func onlyMissingFilesAreNil() throws {
        let folder = try TemporaryFolder()
        try folder.write([1], to: "file")
        #expect(symlink("link", folder.path("link")) == 0)
        #expect(try OpenFile.existing(folder.path("none"), flags: O_RDONLY)?.descriptor == nil)
        #expect(try OpenFile.existing(folder.path("file"), flags: O_RDONLY)?.size() == 1)
        for (name, code) in [("link", ELOOP), ("file/inner", ENOTDIR)] {
            #expect(throws: SystemError(code: code, operation: "open a file")) {
                try OpenFile.existing(folder.path(name), flags: O_RDONLY)
            }
        }
        #expect(try PrivateFolder.names(at: folder.path) == ["file", "link"])
        #expect(try PrivateFolder.names(at: folder.path("none")) == [])
        #expect(throws: SystemError.self) { try PrivateFolder.names(at: folder.path("file")) }
    }

    @Test func aFileLongerThanTheLimitIsRefused() throws {
        let file = try unnamed()
        try file.truncate(to: 100)
        #expect(throws: SystemError(code: EFBIG, operation: "read a file")) { try file.readAll(limit: 99) }
        #expect(try file.readAll(limit: 100).count == 100)
    }

    @Test func aDiskWithoutALimitHasSpace() throws {
        #expect(OpenFile.bytes(blocks: 3, size: 4096) == 12_288)
        #expect(OpenFile.bytes(blocks: .max, size: 4096) == .max)
        let folder = try TemporaryFolder()
        #expect(try OpenFile(folder.path, flags: O_RDONLY).availableBytes() > 0)
    }

    /// A process that is being started by another thread has the file until it runs its program.
    @Test func copiesOfTheDescriptorKeepNoLock() throws {
        let folder = try TemporaryFolder()
        var first: OpenFile? = try OpenFile(folder.path("lock"), flags: O_RDWR | O_CREAT)
        let second = try OpenFile(folder.path("lock"), flags: O_RDWR)
        #expect(try first!.tryLock())
        let copy = dup(first!.descriptor)
        defer { close(copy) }
        first = nil
        #expect(try second.tryLock())
        second.unlock()
        try OpenFile(folder.path("lock"), flags: O_RDWR).lock()
        #expect(try second.tryLock())
    }

    @Test func aLockLastsAsLongAsItsHolder() async throws {
        let path = "/tmp/chatfs-lock-\(getpid())"
        defer { unlink(path) }
        var first: OpenFile? = try OpenFile(path, flags: O_RDWR | O_CREAT)
        let second = try OpenFile(path, flags: O_RDWR)
        #expect(try first!.tryLock())
        #expect(try !second.tryLock())
        first = nil
        #expect(try second.tryLock())
    }

    @Test func aFileWithAnotherNameIsNotLocked() throws {
        let folder = try TemporaryFolder()
        for renames in [true, false] {
            let first = try OpenFile(folder.path("new"), flags: O_RDWR | O_CREAT)
            let second = try OpenFile(folder.path("new"), flags: O_RDWR | O_CREAT)
            #expect(try first.tryLock(named: folder.path("new")))
            #expect(try !second.tryLock(named: folder.path("new")))
            if renames {
                #expect(rename(folder.path("new"), folder.path("done")) == 0)
            } else {
                #expect(unlink(folder.path("new")) == 0)
            }
            first.unlock()
            #expect(try !second.tryLock(named: folder.path("new")))
            second.unlock()
            let directory = try OpenFile(folder.path, flags: O_RDONLY)
            let third = try OpenFile("new", flags: O_RDWR | O_CREAT, in: directory)
            #expect(try third.tryLock(named: "new", in: directory))
            #expect(try !second.tryLock(named: folder.path("new")), "the new file is not the old one")
            second.unlock()
            #expect(unlink(folder.path("new")) == 0)
        }
        #expect(try folder.names() == ["done"])
    }

    @Test func aFullDeviceIsReported() throws {
        let file = try OpenFile("/dev/full", flags: O_WRONLY)
        let error = #expect(throws: SystemError.self) { try file.write([1], at: 0) }
        #expect(error == SystemError(code: ENOSPC, operation: "write a file"))
        #expect(
            error?.sentence == "Could not write a file: the disk is full. Free some space and try again.")
    }

    @Test func aMissingFileHasASentence() {
        let error = #expect(throws: SystemError.self) { try OpenFile("/tmp/none/such", flags: O_RDONLY) }
        #expect(error?.sentence == "Could not open a file: No such file or directory.")
    }
}

/// O_TMPFILE, a macro that Swift does not import.
private let unnamedFile: Int32 = 0o20000000 | O_DIRECTORY
