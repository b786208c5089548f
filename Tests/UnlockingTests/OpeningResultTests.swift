import Base
import Cryptography
import Glibc
import KeySlots
import Keyring
import Posix
import Store
import TestSupport
import Testing

@testable import Unlocking

/// The messages for data that does not open.
@Suite struct OpeningResultTests {
    private func result(_ body: () throws -> Void) -> OpeningResult? {
        do {
            try body()
            return nil
        } catch {
            #expect(!OpeningResult(error).sentence.isEmpty)
            return OpeningResult(error)
        }
    }

    @Test func aWrongKeyIsNotCalledDamage() throws {
        let folder = try TemporaryFolder()
        let (path, key) = (folder.path("chatfs.db"), SecretBytes(randomCount: 32))
        func kind(_ key: SecretBytes) -> OpeningResult.Kind? {
            result { try Database.probe(path: path, key: key) }?.kind
        }
        try Database(path: path, migrations: KeyedFixture.migrations, key: key).close()
        #expect(kind(key) == nil)
        #expect(kind(SecretBytes(randomCount: 32)) == .errorNotADatabase(.wrongKey))
        let bytes = try folder.read("chatfs.db")
        var damaged = bytes
        damaged[40] ^= 1
        try folder.write(damaged, to: "chatfs.db")
        #expect(kind(key) == .errorNotADatabase(.damaged))
        damaged = bytes
        for index in 4100..<4200 { damaged[index] ^= 1 }
        try folder.write(damaged, to: "chatfs.db")
        #expect(kind(key) == .errorNotADatabase(.damaged))
        try folder.write(Array("something else".utf8), to: "chatfs.db")
        #expect(kind(key) == .errorNotADatabase(.noDatabase))
    }

    @Test func aNewerVersionIsRefusedAndStaysUntouched() throws {
        let folder = try TemporaryFolder()
        let key = SecretBytes(randomCount: 32)
        let newer = KeyedFixture.migrations + [Migration("later", "CREATE TABLE later (id INTEGER) STRICT")]
        try Database(path: folder.path("chatfs.db"), migrations: newer, key: key).close()
        let before = try folder.read("chatfs.db")
        let found = result {
            _ = try Database(path: folder.path("chatfs.db"), migrations: KeyedFixture.migrations, key: key)
        }
        #expect(found?.kind == .errorMigration)
        #expect(try folder.read("chatfs.db") == before)
    }

    @Test func otherErrorsHaveTheirResult() {
        #expect(OpeningResult(UnlockingError(.unconfirmed, "a")).kind == .invalidConfirmation)
        #expect(OpeningResult(UnlockingError(.wrongSecret, "a")).kind == .errorNotADatabase(.wrongKey))
        #expect(OpeningResult(UnlockingError(.noWay, "a")).kind == .errorKeychain)
        #expect(OpeningResult(UnlockingError(KeyringError.absent)).kind == .errorKeychain)
        #expect(OpeningResult(StoreError(.busy, "a")).kind == .errorSQL)
        #expect(
            OpeningResult(UnlockingError(KeySlotsError(.damaged, "a"))).kind == .errorNotADatabase(.damaged))
        #expect(OpeningResult(UnlockingError(KeySlotsError(.newerVersion, "a"))).kind == .errorMigration)
        let behind = KeyringError(.refused, "a", cause: StoreError(.diskFull, "b"))
        #expect(OpeningResult(behind).kind == .errorKeychain)
        #expect(OpeningResult(CancellationError()).kind == .unknown)
        #expect(OpeningResult.ok(unlockedBy: .passphrase).kind == .ok)
    }
}
