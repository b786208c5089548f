import Glibc
import Posix
import TestSupport
import Testing

@testable import Cryptography

/// A block of a sealed file that grows where there is no room for it. The limit of a process stands for a quota: both
/// are told otherwise than a full disk.
@Suite struct NoRoomTests {
    @Test func aBlockThatCannotGrowStaysAsItWas() async {
        await #expect(processExitsWith: .success) {
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
            #expect(throws: CryptographyError.self) { try sealed.write(bytes, at: 4096) }
            var buffer = [UInt8](repeating: 0, count: 10_000)
            let count = try buffer.withUnsafeMutableBytes { try sealed.read(into: $0, at: 0) }
            #expect(Array(buffer[..<count]) == bytes)
        }
    }
}
