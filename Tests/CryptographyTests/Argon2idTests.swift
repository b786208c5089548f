import Base
import Testing

@testable import Cryptography

@Suite struct Argon2idTests {
    @Test func passphraseSaltAndCostChangeTheKey() throws {
        let salt = [UInt8](0..<16)
        let cheap = try #require(Argon2id.Cost(passes: 1, memory: 8 << 10))
        let keys = try [
            Argon2id.key(from: SecretBytes(Array("a".utf8)), salt: salt, cost: cheap),
            Argon2id.key(from: SecretBytes(Array("b".utf8)), salt: salt, cost: cheap),
            Argon2id.key(from: SecretBytes(Array("a".utf8)), salt: salt.reversed(), cost: cheap),
            Argon2id.key(
                from: SecretBytes(Array("a".utf8)), salt: salt,
                cost: #require(.init(passes: 2, memory: 8 << 10))),
            Argon2id.key(
                from: SecretBytes(Array("a".utf8)), salt: salt,
                cost: #require(.init(passes: 1, memory: 16 << 10))),
        ].map { $0.withUnsafeBytes { Array($0) } }
        #expect(Set(keys).count == keys.count)
        #expect(
            try Argon2id.key(from: SecretBytes(Array("a".utf8)), salt: salt, cost: cheap)
                .withUnsafeBytes { Array($0) } == keys[0])
    }

    @Test func absurdCostsAreRejected() {
        for (passes, memory) in [
            (0, 8 << 10), (17, 8 << 10), (1, 8 << 9), (1, 1 << 31), (1, (8 << 10) + 1), (.max, .max),
        ] as [(UInt32, UInt64)] {
            #expect(Argon2id.Cost(passes: passes, memory: memory) == nil)
        }
        #expect(Argon2id.Cost(passes: 3, memory: 128 << 20) == .usual)
    }
}
