import Glibc
import Posix
import TestSupport
import Testing

@testable import Cryptography

/// A sealed block that grows on a full disk. A process limit stands for a quota; both report other errors than ENOSPC.
@Suite struct NoRoomTests {
    /// By an addition, and by a whole block in its place.
    @Test(arguments: [(4096, 4096), (0, SealedFile.blockSize)])
    func blockThatCannotGrowIsUnchanged(offset: Int, count: Int) async {
        await #expect(processExitsWith: .success) { [offset = offset as Int, count = count as Int] in
            signal(SIGXFSZ, SIG_IGN)
            let folder = try TemporaryFolder()
            let sealed = try SealedFile(
                file: OpenFile(folder.path("file"), flags: O_RDWR | O_CREAT),
                key: [UInt8](repeating: 7, count: 32), fileID: [1],
                makeSecond: { () throws(SystemError) in
                    try OpenFile(folder.path("second"), flags: O_RDWR | O_CREAT)
                })
            let bytes = [UInt8](repeating: 3, count: 4096)
            try sealed.write(bytes, at: 0)
            var limit = rlimit(rlim_cur: 5000, rlim_max: 5000)
            try #require(setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0)
            let more = [UInt8](repeating: 4, count: count)
            #expect(throws: CryptographyError.self) { try sealed.write(more, at: UInt64(offset)) }
            var buffer = [UInt8](repeating: 0, count: 10_000)
            let filled = try buffer.withUnsafeMutableBytes { try sealed.read(into: $0, at: 0) }
            #expect(Array(buffer[..<filled]) == bytes)
        }
    }
}
