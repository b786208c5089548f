import Base
import TestSupport
import Testing

@testable import Cryptography
@testable import SMP

/// The hellos.
@Suite struct HandshakeTests {
    /// The part of a certificate that is read: its key.
    private func certificate(_ key: SigningKey) -> [UInt8] {
        let field = DERReader.encode(0x30, [])
        let fields = DERReader.encode(0x02, [1]) + field + field + field + field + key.publicKey
        return DERReader.encode(0x30, DERReader.encode(0x30, fields) + field + DERReader.encode(0x03, [0]))
    }

    private struct Sample {
        var hello: ServerHello
        var peer: TLSPeer
    }

    private func sample(versions: ClosedRange<UInt16> = 6...18) throws -> Sample {
        let leaf = try Known.signing(1)
        let key = try Known.agreement(4).publicKey
        let signedKey = SignedKey.encode(
            key: key, algorithmIdentifier: [0x30, 5, 6, 3, 0x2b, 0x65, 0x70],
            signature: leaf.sign(SignedKey.bytesToSign(for: key)))
        let certificates = [certificate(leaf), certificate(try Known.signing(2))]
        return Sample(
            hello: ServerHello(
                versions: versions, sessionID: Known.sessionID, certificates: certificates,
                signedKey: signedKey),
            peer: TLSPeer(
                sessionID: Known.sessionID, certificates: certificates, fingerprint: Known.fingerprint))
    }

    private func agree(_ sample: Sample) throws -> (keys: SessionKeys, hello: [UInt8]) {
        try SessionKeys.agree(
            block: #require(sample.hello.block()), peer: sample.peer, key: Known.agreement(3))
    }

    @Test func bothSidesUseTheHighestVersionAndOneKey() throws {
        let (keys, hello) = try agree(sample())
        #expect(keys.version == 17)
        let published = try VectorValue.file("transport")["client_hello_v17_block"]
        #expect(try published.describes(hello, sha256: SHA256.hash))
        let secret = try Known.agreement(4).wipedSecret(with: Known.agreement(3).publicKey)
        var server = BlockCipher(secret: secret, sessionID: Known.sessionID, side: .server)
        var client = keys.blocks
        #expect(try server.open(client.seal([1, 2])) == [1, 2])
        #expect(try client.open(server.seal([3])) == [3])
        #expect(try agree(sample(versions: 6...16)).keys.version == 16)
        #expect(try agree(sample(versions: 15...15)).keys.version == 15)
    }

    @Test func unsupportedVersionsHaveAnError() throws {
        expect(.unsupportedVersion) { try agree(sample(versions: 6...14)) }
        expect(.unsupportedVersion) { try agree(sample(versions: 18...20)) }
    }

    @Test func serversOfOtherIdentitiesAreRefused() throws {
        var wrong = try sample()
        wrong.peer.sessionID[0] ^= 1
        expect(.wrongIdentity) { try agree(wrong) }
        wrong = try sample()
        wrong.peer.certificates.removeLast()
        expect(.wrongIdentity) { try agree(wrong) }
        wrong = try sample()
        wrong.hello.signedKey[60] ^= 1
        expect(.wrongIdentity) { try agree(wrong) }
        wrong = try sample()
        (wrong.hello.certificates, wrong.peer.certificates) = ([], [])
        expect(.wrongIdentity) { try agree(wrong) }
        // The key of another leaf.
        wrong = try sample()
        wrong.hello.certificates.swapAt(0, 1)
        wrong.peer.certificates.swapAt(0, 1)
        expect(.wrongIdentity) { try agree(wrong) }
    }

    @Test func helloBlocksHaveOneFormAndIgnoreNewFields() throws {
        let sample = try sample()
        let block = try #require(sample.hello.block())
        let message = try #require(Padding.unpad(block))
        #expect(ServerHello(decoding: message) == sample.hello)
        #expect(ServerHello(decoding: message + [1, 2, 3]) == sample.hello)
        for count in 0..<message.count { #expect(ServerHello(decoding: Array(message.prefix(count))) == nil) }
        expect(.malformed) {
            try SessionKeys.agree(block: Array(block.dropLast()), peer: sample.peer, key: Known.agreement(3))
        }
        let client = ClientHello(
            version: 15, identity: Known.fingerprint, key: try Known.agreement(3).publicKey)
        for count in 0..<client.encoded.count {
            #expect(ClientHello(decoding: Array(client.encoded.prefix(count))) == nil)
        }
        #expect(ClientHello(decoding: client.encoded + [9]) == client)
    }
}
