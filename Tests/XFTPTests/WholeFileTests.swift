import Cryptography
import Testing

@testable import XFTP

/// Verification of a whole file whose chunks are valid.
@Suite struct WholeFileTests {
    /// Returns a matching description of any bytes.
    private func description(of bytes: [UInt8]) throws -> FileDescription {
        var description = try Vectors.description()
        description.digest = SHA512.hash(bytes)
        description.chunks[0].digest = SHA256.hash(bytes)
        return description
    }

    private func check(_ bytes: [UInt8]) throws {
        var check = try WholeFileCheck(description(of: bytes))
        bytes.withUnsafeBytes { check.update(encrypted: $0) }
        try check.finish()
    }

    @Test func wrongTagIsDamage() throws {
        let right = try Vectors.encryptedChunk()
        try check(right)
        // A bit of the tag, the last one of it, and a bit of the content.
        for place in [right.count - 16, right.count - 1, 100] {
            var wrong = right
            wrong[place] ^= 1
            #expect {
                try check(wrong)
            } throws: {
                ($0 as? XFTPError)?.code == .damaged
            }
        }
    }

    @Test func wrongDigestIsDamage() throws {
        let bytes = try Vectors.encryptedChunk()
        var description = try description(of: bytes)
        description.digest[63] ^= 1
        var check = try WholeFileCheck(description)
        bytes.withUnsafeBytes { check.update(encrypted: $0) }
        let ended = check
        #expect { try ended.finish() } throws: { ($0 as? XFTPError)?.code == .damaged }
    }
}
