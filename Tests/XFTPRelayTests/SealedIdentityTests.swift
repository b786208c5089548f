import Cryptography
import Glibc
import TestSupport
import Testing

@testable import XFTPRelay

/// The keys that identify a relay.
@Suite("Certificate keys on disk")
struct SealedIdentityTests {
    private static func start(_ folder: TemporaryFolder, key: SecretBytes?) throws -> Relay {
        var settings = RelaySettings(folder: folder.path("relay"))
        settings.key = key
        return try Relay.start(settings)
    }

    private static let pem = Array("PRIVATE KEY".utf8)

    private static func isClear(_ folder: TemporaryFolder) throws -> Bool {
        try folder.names(in: "relay").filter { $0.contains(".key") }.contains { name in
            try folder.read("relay/" + name).firstRange(of: pem) != nil
        }
    }

    @Test("keys are sealed, and only their key opens them")
    func sealed() async throws {
        let folder = try TemporaryFolder()
        let key = SecretBytes(randomCount: 32)
        let first = try Self.start(folder, key: key)
        await first.stop()
        #expect(try !Self.isClear(folder))
        let again = try Self.start(folder, key: key)
        #expect(again.address.fingerprint == first.address.fingerprint)
        await again.stop()
        for other in [SecretBytes(randomCount: 32), nil] {
            #expect(throws: RelayError.self) { try Self.start(folder, key: other) }
        }
    }

    @Test("plain keys are sealed at the next start with a key")
    func earlier() async throws {
        let folder = try TemporaryFolder()
        let before = try NewServerFolder.make(in: folder)
        #expect(try Self.isClear(folder))
        let key = SecretBytes(randomCount: 32)
        let sealed = try Self.start(folder, key: key)
        #expect(sealed.address.fingerprint == before)
        await sealed.stop()
        #expect(try !Self.isClear(folder))
        let again = try Self.start(folder, key: key)
        #expect(again.address.fingerprint == before)
        await again.stop()
    }

    @Test("damaged keys give an error")
    func damaged() async throws {
        let folder = try TemporaryFolder()
        let key = SecretBytes(randomCount: 32)
        await (try Self.start(folder, key: key)).stop()
        let path = "relay/server.key.sealed"
        let whole = try folder.read(path)
        let flipped = [whole[0] ^ 1] + whole.dropFirst()
        for change in [Array(whole.dropLast()), [], Array(whole.prefix(24)), flipped] {
            try folder.write(change, to: path)
            #expect {
                try Self.start(folder, key: key)
            } throws: {
                ($0 as? RelayError)?.code == .certificates
            }
        }
    }
}

/// A folder of a version without sealed keys.
private enum NewServerFolder {
    /// Returns the fingerprint.
    static func make(in folder: TemporaryFolder) throws -> [UInt8] {
        let made = try RelayFolder(folder.path("relay"))
        let identity = try IdentityFiles(made.folder, key: nil).identity(nil)
        made.release()
        return identity.fingerprint
    }
}
