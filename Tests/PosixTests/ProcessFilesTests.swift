import Glibc
import Posix
import TestSupport
import Testing

@Suite struct ProcessFilesTests {
    @Test func unreadBytesOfSourceAreFound() throws {
        let folder = try TemporaryFolder()
        try folder.write([UInt8](repeating: 1, count: 100), to: "source")
        let source = try OpenFile(folder.path("source"), flags: O_RDONLY)
        lseek(source.descriptor, 37, SEEK_SET)
        #expect(ProcessFiles.hasUnreadBytes(getpid(), after: 37))
        #expect(!ProcessFiles.hasUnreadBytes(getpid(), after: 36))
        lseek(source.descriptor, 100, SEEK_SET)
        #expect(!ProcessFiles.hasUnreadBytes(getpid(), after: 100))
    }

    @Test func writtenFileIsNoSource() throws {
        let folder = try TemporaryFolder()
        try folder.write([UInt8](repeating: 1, count: 100), to: "target")
        let target = try OpenFile(folder.path("target"), flags: O_RDWR)
        lseek(target.descriptor, 41, SEEK_SET)
        #expect(!ProcessFiles.hasUnreadBytes(getpid(), after: 41))
        #expect(!ProcessFiles.hasUnreadBytes(-1, after: 41))
        withExtendedLifetime(target) {}
    }
}
