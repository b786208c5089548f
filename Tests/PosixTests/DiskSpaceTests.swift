import Glibc
import TestSupport
import Testing

@testable import Posix

@Suite("Disk space")
struct DiskSpaceTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func file() throws -> OpenFile {
        try OpenFile(folder.path("file"), flags: O_RDWR | O_CREAT | O_TRUNC)
    }

    @Test("reserved space does not extend the file")
    func reserved() throws {
        let file = try file()
        try file.reserve(0..<100_000)
        #expect(try file.size() == 0)
        try file.reserve(7..<7)
        try file.write([1], at: 0)
        #expect(try file.readAll(limit: 10) == [1])
    }

    @Test("reserving too much fails")
    func tooMuch() throws {
        let file = try file()
        do throws(SystemError) {
            try file.reserve(0..<(UInt64(1) << 60))
        } catch {
            #expect(error.isFullDisk && error.operation == "reserve space for a file")
        }
        #expect(try file.size() == 0)
    }

    /// As with RLIMIT_FSIZE and quotas, which would affect all tests.
    @Test("reserving beyond the longest file fails")
    func beyondTheLongest() throws {
        let last = UInt64(Int64.max)
        #expect(throws: SystemError(code: EFBIG, operation: "reserve space for a file")) {
            try file().reserve(last - 10..<last + 100)
        }
    }

    @Test("files can be synchronised alone and together")
    func durable() throws {
        let file = try file()
        try file.write([1], at: 0)
        file.beginWritingBack()
        try file.synchronise()
        try file.synchroniseFilesystem()
        let directory = try OpenFile(folder.path, flags: O_RDONLY)
        try directory.synchronise()
        let pipe = try OpenFile("/proc/self/fd", flags: O_RDONLY)
        #expect(throws: SystemError.self) { try pipe.synchronise() }
    }

    @Test("the length can shrink and grow")
    func truncated() throws {
        let file = try file()
        try file.write([1, 2, 3, 4], at: 0)
        try file.truncate(to: 2)
        #expect(try file.readAll(limit: 10) == [1, 2])
        try file.truncate(to: 4)
        #expect(try file.readAll(limit: 10) == [1, 2, 0, 0])
        let reader = try OpenFile(folder.path("file"), flags: O_RDONLY)
        #expect(throws: SystemError(code: EINVAL, operation: "set a file's length")) {
            try reader.truncate(to: 0)
        }
        #expect(throws: SystemError(code: EBADF, operation: "write a file")) { try reader.write([1], at: 0) }
    }

    @Test("shared locks exclude exclusive ones")
    func sharedLocks() throws {
        let file = try file()
        let (second, third) = try (
            OpenFile(folder.path("file"), flags: O_RDONLY), OpenFile(folder.path("file"), flags: O_RDONLY)
        )
        #expect(try file.tryLock(shared: true) && second.tryLock(shared: true))
        #expect(try !third.tryLock())
        flock(file.descriptor, LOCK_UN)
        #expect(try !third.tryLock())
        flock(second.descriptor, LOCK_UN)
        #expect(try third.tryLock())
        #expect(try !second.tryLock(shared: true))
    }
}
