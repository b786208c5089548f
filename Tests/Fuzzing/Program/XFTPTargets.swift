import Base
import Cryptography

@testable import Network
@testable import XFTP

extension Target {
    /// Transmissions of relays and their clients.
    static let xftp = [
        Target("xftp-answer", "answers of relays", longest: 1024) { bytes in
            if let answer = XFTPResponse(decoding: bytes) {
                hold(XFTPResponse(decoding: answer.encoded) == answer, "a written answer is the same")
                if case .error(let error) = answer {
                    hold(error.text.utf8.allSatisfy { (32..<127).contains($0) }, "a refusal can be shown")
                }
            }
            guard let block = Block.pad(bytes),
                let response = try? XFTPResponse(block: block, sessionID: [1, 2, 3, 4])
            else { return }
            if case .file(_, let nonce) = response {
                hold(nonce.count == XFTPResponse.nonceSize, "a nonce is one")
            }
        },
        Target("xftp-command", "requests to relays", longest: 1024) { bytes in
            if let command = try? XFTPCommand(decoding: bytes) {
                hold(command.encoded == bytes, "a request has one form")
            }
            if let transmission = try? Transmission(message: bytes) {
                hold(
                    transmission.block().flatMap { Block.unpad($0) } == bytes, "a transmission has one form")
            }
        },
        Target("xftp-hello", "greetings of relays and clients", longest: 2048) { bytes in
            if let hello = ServerHello(decoding: bytes) {
                let again = hello.block().flatMap { Block.unpad($0) }.flatMap { ServerHello(decoding: $0) }
                hold(again == hello, "a written greeting of a relay is the same")
                _ = hello.certificates.map { SignedKey.publicKey(ofCertificate: $0) }
                if let key = SignedKey(hello.signedKey) { _ = AgreementKey.isKey(key.key) }
            }
            if let hello = ClientHello(decoding: bytes) {
                let again = hello.block().flatMap { Block.unpad($0) }.flatMap { ClientHello(decoding: $0) }
                hold(again == hello, "a written greeting of a client is the same")
            }
            _ = SignedKey(bytes).map { AgreementKey.isKey($0.key) }
        },
        Target("xftp-download", "chunks from relays", longest: 1024) { bytes in
            var input = Input(bytes)
            let (isMade, piece, flipped) = (
                input.bool(), Int(input.byte()) + 1, Int(input.integer() & 0xFFFF)
            )
            let chunk = ChunkFixture.chunk
            var answer: [UInt8]
            if isMade {
                answer = ChunkFixture.answer
                if flipped < answer.count { answer[flipped] ^= 1 << input.number(below: 8) }
            } else {
                // The rest of the block after the message is padding.
                answer = (Block.pad(input.take(200)) ?? []) + input.rest()
            }
            let buffer = ChunkBuffer(capacity: chunk.count)
            var counted = 0
            let count = Lock(0)
            let sink = ChunkSink(
                into: buffer, size: chunk.count, key: ChunkFixture.clientKey, sessionID: [1, 2, 3, 4]
            ) { more in count.withLock { $0 += more } }
            let isTaken = (try? answer.inPieces(of: piece * 97) { try sink.receive($0) }) != nil
            counted = count.withLock { $0 }
            hold(counted == buffer.count && counted <= chunk.count, "what is counted has come")
            let isComplete = isTaken && sink.isComplete(digest: ChunkFixture.digest)
            if isComplete { hold(Array(buffer.bytes) == chunk, "what is complete is what was sent") }
            if isMade, flipped >= answer.count { hold(isComplete, "what was sent is complete") }
        },
        Target("certificate", "certificates of relays", longest: 2048) { bytes in
            // Every certificate begins with this byte; other inputs are read as two of them.
            guard bytes.first == 0x30 else {
                var input = Input(bytes)
                let first = input.take(Int(input.byte()) << 8 | Int(input.byte()))
                _ = try? IdentityCheck.verify([first, input.rest()], fingerprint: SHA256.hash(first))
                return
            }
            if let certificate = Certificate(der: bytes) {
                // Both parts of the program must find the same key.
                if certificate.kind != nil,
                    let found = SignedKey.publicKey(ofCertificate: bytes),
                    let ours = VerifyingKey(spki: found)
                {
                    hold(VerifyingKey(spki: certificate.publicKey) == ours, "a certificate has one key")
                }
                hold(certificate.fingerprint.count == 32, "a fingerprint is one")
                _ = certificate.isSigned(by: certificate)
            }
        },
        Target("keys", "keys of relays, clients and descriptions", longest: 128) { bytes in
            if let key = SigningKey(pkcs8: bytes) {
                hold(key.pkcs8 == bytes, "a private key has one form")
                hold(key.verifyingKey.isValid(key.sign(bytes), for: bytes), "a key signs")
            }
            if let key = VerifyingKey(spki: bytes) {
                hold(key.spki == bytes, "a public key has one form")
                let length = key.algorithm == .ed25519 ? 64 : 114
                let signature = Array((bytes + bytes).prefix(length))
                hold(!key.isValid(signature, for: [1]), "a key says no to any signature that is none")
            }
            if let shared = try? ChunkFixture.clientKey.sharedSecret(with: bytes) {
                hold(shared.contains { $0 != 0 }, "what everybody would know is no secret")
            }
        },
    ]
}

extension AgreementKey {
    /// Whether this key permits an agreement.
    fileprivate static func isKey(_ spki: [UInt8]) -> Bool {
        (try? ChunkFixture.clientKey.sharedSecret(with: spki)) != nil
    }
}

/// A chunk as sent by a relay, created once.
private enum ChunkFixture {
    static let chunk: [UInt8] = (0..<300).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    static let digest = SHA256.hash(chunk)
    static let clientKey = key(1)
    private static let relayKey = key(2)

    /// The block, the encrypted chunk and its tag.
    static let answer: [UInt8] = {
        let nonce = [UInt8](repeating: 9, count: XFTPResponse.nonceSize)
        let response = XFTPResponse.file(key: relayKey.publicKey, nonce: nonce)
        let block = Transmission(sessionID: [1, 2, 3, 4], body: response.encoded).block() ?? []
        guard let secret = try? relayKey.sharedSecret(with: clientKey.publicKey),
            var box = try? StreamBox(key: secret, nonce: nonce)
        else { fatalError("the fixture cannot be made") }
        var sealed = chunk
        sealed.withUnsafeMutableBytes { box.seal($0) }
        return block + sealed + box.tag()
    }()

    private static func key(_ number: UInt8) -> AgreementKey {
        guard let key = try? AgreementKey(rawValue: [UInt8](repeating: number, count: 32)) else {
            fatalError("the fixture cannot be made")
        }
        return key
    }
}
