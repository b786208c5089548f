import Base
import Glibc
import Posix
import TestSupport
import Testing

@testable import Cryptography

/// A sealed file read while it grows, as a draft is while its copy is encrypted.
@Suite struct GrowingFileTests {
    @Test func addedBlocksAreReadCorrectly() async throws {
        let folder = try TemporaryFolder()
        let file = try OpenFile(folder.path("file"), flags: O_RDWR | O_CREAT)
        let sealed = try SealedFile(
            file: file, key: [UInt8](repeating: 7, count: 32), fileID: [1],
            makeSecond: { () throws(SystemError) in
                try OpenFile(folder.path("second"), flags: O_RDWR | O_CREAT)
            })
        let (count, size) = (200, SealedFile.blockSize)
        @Sendable func block(_ number: Int) -> [UInt8] {
            [UInt8](repeating: UInt8(number % 251), count: size)
        }
        async let reader: Int = ThreadPool.shared.run {
            var (seen, wrong) = (0, 0)
            var buffer = [UInt8](repeating: 0, count: size)
            while seen < count {
                // Read existing blocks only; they must not change any more.
                for number in seen..<Int(sealed.size) / size {
                    let filled = try? buffer.withUnsafeMutableBytes {
                        try sealed.read(into: $0, at: UInt64(number * size))
                    }
                    if filled != size || buffer != block(number) { wrong += 1 }
                    seen = number + 1
                }
            }
            return wrong
        }
        for number in stride(from: 0, to: count, by: 2) {
            try sealed.write(block(number) + block(number + 1), at: UInt64(number * size))
            if number % 50 == 0 { try sealed.synchronise() }
        }
        #expect(await reader == 0)
        // A block from before the last synchronisation goes to the second file; a later one is overwritten in place.
        try sealed.synchronise()
        try sealed.write([1], at: 0)
        #expect(access(folder.path("second"), F_OK) == 0)
    }
}
