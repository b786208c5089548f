import Base
import Cryptography
import XFTP

/// The plaintext of a CryptoFile for an upload. Verifies the tag along the way: chunks of a damaged file may
/// reach a relay, but its description is never sent. One `read` at a time.
final class CryptoFileSource: UploadSource {
    private let reader: CryptoFileReader
    private let check: Lock<CryptoFileReader.Check>

    init(_ reader: CryptoFileReader) {
        self.reader = reader
        check = Lock(reader.beginCheck())
    }

    var size: UInt64 { reader.size }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws -> Int {
        // Copy it, so that the lock is not held during disk reads, which come one at a time.
        var check = check.withLock { $0 }
        defer { self.check.withLock { $0 = check } }
        return try reader.read(into: buffer, at: offset, checking: &check)
    }

    /// Reads without advancing the check.
    func readAgain(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws -> Int {
        var check = reader.beginCheck()
        return try reader.read(into: buffer, at: offset, checking: &check)
    }

    func confirm() throws { try reader.finish(check.withLock { $0 }) }
}
