import Base
import COpenSSL
import Testing

@testable import Cryptography

@Suite struct KeyTests {
    private let seedOne = [UInt8](repeating: 1, count: 32)
    private let seedTwo = [UInt8](repeating: 2, count: 32)

    @Test func keysUseTheDERFormsOfTheProtocol() throws {
        let sender = try SigningKey(seed: seedOne)
        let recipient = try SigningKey(seed: seedTwo)
        #expect(
            Hexadecimal.encode(sender.publicKey)
                == "302a300506032b65700321008a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f5c")
        #expect(
            Base64URL.encode(recipient.pkcs8)
                == "MC4CAQAwBQYDK2VwBCIEIAICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIC")
        #expect(SigningKey(pkcs8: recipient.pkcs8)?.publicKey == recipient.publicKey)
        #expect(VerifyingKey(spki: sender.publicKey)?.spki == sender.publicKey)
    }

    /// The FNEW command of the published vector, signed with its session id.
    @Test func commandSignatureMatchesVector() throws {
        let sender = try SigningKey(seed: seedOne)
        let recipient = try SigningKey(seed: seedTwo)
        let digest = try #require(
            Hexadecimal.decode("ca08c8b22b8a119088b3b744b4b9e1e903d74e94487f4dafa6a4b8dd5562132b"))
        var signed: [UInt8] = [32] + [UInt8](0..<32) + [0, 0]
        signed += Array("FNEW ".utf8) + [44] + sender.publicKey
        signed.append(bigEndian: UInt32(65_536))
        signed += [32] + digest + [1, 44] + recipient.publicKey + Array("0".utf8)
        let signature = sender.sign(signed)
        #expect(
            Hexadecimal.encode(signature)
                == "ea8a768eea448dcd9b4a135eb213a8c7ad208d71d0a3b4b3a54bf7e07b13fef4"
                + "5c33d54ed9c440e34f1137fc004923d6036999c3ce01a691367d916a093a8900")
        #expect(sender.verifyingKey.isValid(signature, for: signed))
        #expect(!recipient.verifyingKey.isValid(signature, for: signed))
        signed[40] ^= 1
        #expect(!sender.verifyingKey.isValid(signature, for: signed))
        #expect(!sender.verifyingKey.isValid(Array(signature.dropLast()), for: signed))
    }

    /// RFC 7748 section 6.2.
    @Test func x448AgreementMatchesRFC7748() throws {
        func bytes(_ text: String) throws -> [UInt8] { try #require(Hexadecimal.decode(text)) }
        let alice = try X448Key(
            rawValue: WipedBytes(
                bytes(
                    "9a8f4925d1519f5775cf46b04b5800d4ee9ee8bae8bc5565d498c28dd9c9baf5"
                        + "74a9419744897391006382a6f127ab1d9ac2d8c0a598726b")))
        #expect(
            Hexadecimal.encode(alice.publicKey.rawValue)
                == "9b08f7cc31b7e3e67d22d5aea121074a273bd2b83de09c63faa73d2c22c5d9bb"
                + "c836647241d953d40c5b12da88120d53177f80e532c41fa0")
        let bob = try #require(
            X448PublicKey(
                rawValue: bytes(
                    "3eb7a829b0cd20f5bcfc0b599b6feccf6da4627107bdb0d4f345b43027d8b972"
                        + "fc3e34fb4232a13ca706dcb57aec3dae07bdc1c67bf33609")))
        let shared = try bytes(
            "07fff4181ac6cc95ec1c16a94a0f74d12da232ce40a77552281d282bb60c0b56"
                + "fd2464c335543936521c24403085d59a449a5037514a879d")
        #expect(try alice.sharedSecret(with: bob).bytes == shared)
        // A stored key pair.
        let again = try #require(X448Key(rawValue: alice.rawValue, publicKey: alice.publicKey))
        #expect(try again.sharedSecret(with: bob).bytes == shared)
        #expect(throws: CryptographyError.self) {
            try alice.sharedSecret(with: #require(X448PublicKey(rawValue: [UInt8](repeating: 0, count: 56))))
        }
    }

    /// RFC 8032 section 7.4, "1 octet".
    @Test func ed448SignatureMatchesRFC8032() throws {
        let raw = try #require(
            Hexadecimal.decode(
                "43ba28f430cdff456ae531545f7ecd0ac834a55d9358c0372bfa0c6c6798c086"
                    + "6aea01eb00742802b8438ea4cb82169c235160627b4c3a9480"))
        let signature = try #require(
            Hexadecimal.decode(
                "26b8f91727bd62897af15e41eb43c377efb9c610d48f2335cb0bd0087810f435"
                    + "2541b143c4b981b7e18f62de8ccdf633fc1bf037ab7cd779805e0dbcc0aae1cb"
                    + "cee1afb2e027df36bc04dcecbf154336c19f0af7e0a6472905e799f1953d2a0f"
                    + "f3348ab21aa4adafd1d234441cf807c03a00"))
        let key = try #require(VerifyingKey(spki: KeyForm.ed448Public.encode(raw)))
        #expect(key.algorithm == .ed448)
        #expect(key.isValid(signature, for: [3]))
        #expect(!key.isValid(signature, for: [4]))
        #expect(!key.isValid([UInt8](repeating: 0, count: 114), for: [3]))
        #expect(!key.isValid([], for: [3]))
        #expect(ERR_peek_error() == 0)
    }

    @Test func malformedKeysAreRejected() throws {
        let good = [
            try SigningKey(seed: seedOne).publicKey, try SigningKey(seed: seedOne).pkcs8,
            try AgreementKey(rawValue: seedOne).publicKey, KeyForm.ed448Public.encode([UInt8](0..<57)),
        ]
        var dice = Dice(seed: 3)
        for _ in 0..<20_000 {
            var bytes = good.randomElement(using: &dice)!
            switch Int.random(in: 0..<3, using: &dice) {
            case 0: bytes.removeLast(Int.random(in: 1...bytes.count, using: &dice))
            case 1: bytes[Int.random(in: 0..<12, using: &dice)] ^= UInt8.random(in: 1...255, using: &dice)
            default: bytes += [UInt8.random(in: 0...255, using: &dice)]
            }
            // Damage to the first bytes must not turn one form into another.
            if VerifyingKey(spki: bytes) != nil || SigningKey(pkcs8: bytes) != nil {
                Issue.record("accepted \(Hexadecimal.encode(bytes))")
            }
        }
    }

    @Test func x25519KeysOfSmallOrderAreRejected() throws {
        let key = AgreementKey.generate()
        let smallOrder = KeyForm.x25519Public.encode([UInt8](repeating: 0, count: 32))
        #expect(throws: CryptographyError.self) { try key.sharedSecret(with: smallOrder) }
        #expect(throws: CryptographyError.self) {
            try key.sharedSecret(with: SigningKey.generate().publicKey)
        }
    }

    @Test func descriptionsAndMirrorsHideSecrets() throws {
        let key = try SigningKey(seed: seedOne)
        let agreement = try AgreementKey(rawValue: seedOne)
        let secret = SecretBytes(seedOne)
        var dumped = ""
        for value in [key, agreement, secret] as [Any] {
            dump(value, to: &dumped)
            dumped += "\(value) \(String(reflecting: value))"
        }
        #expect(!dumped.contains("1, 1"))
        #expect(secret.withUnsafeBytes { Array($0) } == seedOne)
        #expect(
            SecretBytes(randomCount: 32).withUnsafeBytes { Array($0) } != [UInt8](repeating: 0, count: 32))
    }
}
