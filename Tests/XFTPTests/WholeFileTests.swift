import Cryptography
import Testing

@testable import XFTP

/// Verification of a whole file whose chunks are valid.
@Suite struct WholeFileTests {
    /// The form of the received bytes: encrypted or decrypted.
    enum Form: CaseIterable {
        case encrypted, decrypted
    }

    /// Returns a matching description of any bytes.
    private func description(of bytes: [UInt8]) throws -> FileDescription {
        var description = try Vectors.description()
        description.digest = SHA512.hash(bytes)
        description.chunks[0].digest = SHA256.hash(bytes)
        return description
    }

    private func check(_ bytes: [UInt8], as form: Form) throws {
        let description = try description(of: bytes)
        var check = try WholeFileCheck(description)
        var bytes = bytes
        let box = try StreamBox(key: description.key, nonce: description.nonce)
        bytes.withUnsafeMutableBytes { bytes in
            switch form {
            case .encrypted: check.update(encrypted: UnsafeRawBufferPointer(bytes))
            case .decrypted:
                let end = bytes.count - StreamBox.tagLength
                box.transform(UnsafeMutableRawBufferPointer(rebasing: bytes[..<end]), at: 0)
                check.update(stream: bytes)
            }
        }
        try check.finish()
    }

    @Test(arguments: Form.allCases)
    func wrongTagIsDamage(form: Form) throws {
        let right = try Vectors.encryptedChunk()
        try check(right, as: form)
        // A bit of the tag, the last one of it, and a bit of the content.
        for place in [right.count - 16, right.count - 1, 100] {
            var wrong = right
            wrong[place] ^= 1
            #expect { try check(wrong, as: form) } throws: { ($0 as? XFTPError)?.code == .damaged }
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
