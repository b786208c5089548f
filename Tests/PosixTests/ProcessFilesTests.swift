import Glibc
import Posix
import TestSupport
import Testing

@Suite struct ProcessFilesTests {
    @Test func progressThroughSourceIsFound() throws {
        let folder = try TemporaryFolder()
        try folder.write([UInt8](repeating: 1, count: 100), to: "source")
        let source = try OpenFile(folder.path("source"), flags: O_RDONLY)
        lseek(source.descriptor, 37, SEEK_SET)
        #expect(ProcessFiles.reading(of: getpid(), at: 37) == .hasBytesLeft)
        #expect(ProcessFiles.reading(of: getpid(), at: 36) == nil)
        lseek(source.descriptor, 100, SEEK_SET)
        #expect(ProcessFiles.reading(of: getpid(), at: 100) == .isComplete)
    }

    @Test func writtenFileIsNoSource() throws {
        let folder = try TemporaryFolder()
        try folder.write([UInt8](repeating: 1, count: 100), to: "target")
        let target = try OpenFile(folder.path("target"), flags: O_RDWR)
        lseek(target.descriptor, 41, SEEK_SET)
        #expect(ProcessFiles.reading(of: getpid(), at: 41) == nil)
        #expect(ProcessFiles.reading(of: -1, at: 41) == nil)
        withExtendedLifetime(target) {}
    }
}
