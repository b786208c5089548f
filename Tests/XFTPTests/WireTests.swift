import Base
import Testing

@testable import Cryptography
@testable import XFTP

@Suite struct WireTests {
    @Test func pingMatchesTheOfficialClient() throws {
        let block = try #require(
            Transmission(sessionID: Vectors.sessionID, body: XFTPCommand.ping.encoded).block())
        #expect(block.count == 16_384)
        #expect(Array(block[..<7]) == Vectors.bytes("002b0100280020"))
        #expect(
            SHA256.hash(block)
                == Vectors.bytes("ed0a6afb66ca5d029cf446bee2d7843b838a1ff75945d3c2abf0466cb6ab406b"))
    }

    @Test func newChunkMatchesTheOfficialClient() throws {
        let sender = try SigningKey(seed: Vectors.senderSeed)
        let recipient = try SigningKey(seed: Vectors.recipientSeed)
        let command = XFTPCommand.create(
            .init(
                senderKey: sender.publicKey, size: 65_536, digest: Vectors.chunkDigest,
                recipientKeys: [recipient.publicKey], password: nil))
        #expect(command.encoded.count == 134)
        let transmission = Transmission(sessionID: Vectors.sessionID, body: command.encoded).signed(
            by: sender)
        #expect(
            transmission.signature
                == Vectors.bytes(
                    "ea8a768eea448dcd9b4a135eb213a8c7ad208d71d0a3b4b3a54bf7e07b13fef4"
                        + "5c33d54ed9c440e34f1137fc004923d6036999c3ce01a691367d916a093a8900"))
        let block = try #require(transmission.block())
        #expect(
            SHA256.hash(block)
                == Vectors.bytes("8a495d599b394bfc79ba060f0e766bcf54792567957f5352539b839c05bc9e95"))
        let read = try Transmission(block: block)
        #expect(read == transmission)
        #expect(read.isSigned(by: sender.verifyingKey))
        #expect(!read.isSigned(by: recipient.verifyingKey))
        #expect(try XFTPCommand(decoding: read.body) == command)
    }

    @Test func downloadMatchesTheOfficialClient() throws {
        let client = try AgreementKey(rawValue: [UInt8](repeating: 3, count: 32))
        let server = try AgreementKey(rawValue: [UInt8](repeating: 4, count: 32))
        #expect(
            XFTPCommand.download(key: client.publicKey).encoded
                == Vectors.bytes(
                    "46474554202c302a300506032b656e032100"
                        + "5dfedd3b6bd47f6fa28ee15d969d5bb0ea53774d488bdaf9df1c6e0124b3ef22"))
        var chunk = try Vectors.encryptedChunk()
        var box = try StreamBox(key: try client.sharedSecret(with: server.publicKey), nonce: Vectors.nonce)
        chunk.withUnsafeMutableBytes { box.seal($0) }
        #expect(Array(chunk[..<16]) == Vectors.bytes("f9adb77ef424a485f1ca2964096643e4"))
        #expect(box.tag() == Vectors.bytes("b237bb4d1943d47e8b2b635a6ea53c82"))
    }

    @Test func encryptedFileMatchesTheOfficialClient() throws {
        let chunk = try Vectors.encryptedChunk()
        #expect(
            Array(chunk[..<48])
                == Vectors.bytes(
                    "1b97823353c15244286958476906057b1162535dafcfab421178bc2773211d66"
                        + "5a7c1977ee3f3c6739203e83978810ad"))
        #expect(Array(chunk.suffix(16)) == Vectors.bytes("e5333c8cf8b8b4f3ba50b86a0336d84c"))
        #expect(SHA256.hash(chunk) == Vectors.chunkDigest)
        #expect(SHA512.hash(chunk) == Vectors.fileDigest)
    }

    @Test func clientHelloMatchesTheOfficialClient() throws {
        let block = try #require(ClientHello(version: 3, identity: Vectors.key).block())
        #expect(
            SHA256.hash(block)
                == Vectors.bytes("68ad970b77bb1708873bd98caaa3de9571283e658aaece8177be6944215d2d08"))
        let message = try #require(Block.unpad(block))
        #expect(ClientHello(decoding: message) == ClientHello(version: 3, identity: Vectors.key))
    }

    @Test func serverHelloMayHaveATail() throws {
        let hello = ServerHello(
            versions: 1...3, sessionID: Vectors.sessionID, certificates: [[1, 2, 3], [4]], signedKey: [5, 6])
        let message = try Vectors.message(in: hello.block(ending: ServerHello.noProof))
        #expect(ServerHello(decoding: message) == hello)
        #expect(ServerHello(decoding: message.dropLast()) == hello, "relays of 6.4 end after the signed key")
        #expect(ServerHello(decoding: message + [1, 2, 3]) == hello, "later fields are not ours")
        #expect(ServerHello(decoding: message.dropLast(2)) == nil)
    }

    @Test(
        arguments: [
            .ping, .upload, .delete, .acknowledge, .addRecipients(keys: [[1], [2, 3]]), .download(key: [9]),
            .create(
                .init(
                    senderKey: [1], size: .max, digest: [], recipientKeys: [[2]], password: Array("pw".utf8))),
        ] as [XFTPCommand])
    func commandsRoundTrip(command: XFTPCommand) throws {
        #expect(try XFTPCommand(decoding: command.encoded) == command)
        #expect(throws: XFTPProtocolError.command(.syntax)) {
            try XFTPCommand(decoding: command.encoded + [0])
        }
    }

    @Test func unknownCommandsAreUnknown() {
        #expect(throws: XFTPProtocolError.command(.unknown)) {
            try XFTPCommand(decoding: Array("FOO 1".utf8))
        }
        #expect(throws: XFTPProtocolError.command(.unknown)) { try XFTPCommand(decoding: []) }
        #expect(throws: XFTPProtocolError.command(.syntax)) { try XFTPCommand(decoding: Array("FNEW".utf8)) }
        #expect(throws: XFTPProtocolError.command(.syntax)) {
            try XFTPCommand(decoding: Array("FADD ".utf8) + [0])
        }
    }

    @Test(
        arguments: [
            .ok, .pong, .created(sender: [1], recipients: [[2], [3]]), .added(recipients: [[4]]),
            .file(key: [5], nonce: Vectors.nonce), .error(.blocked(reason: "reason=spam")),
        ] as [XFTPResponse])
    func responsesRoundTrip(response: XFTPResponse) {
        #expect(XFTPResponse(decoding: response.encoded) == response)
    }

    @Test(arguments: [
        "BLOCK", "SESSION", "HANDSHAKE", "AUTH", "SIZE", "QUOTA", "DIGEST", "CRYPTO", "NO_FILE", "HAS_FILE",
        "FILE_IO", "TIMEOUT", "INTERNAL", "CMD UNKNOWN", "CMD SYNTAX", "CMD PROHIBITED", "CMD NO_AUTH",
        "CMD HAS_AUTH", "CMD NO_ENTITY", "BLOCKED reason=content",
    ])
    func everyErrorIsKnown(word: String) throws {
        let error = try #require(XFTPProtocolError(text: word))
        #expect(error.text == word)
        #expect(XFTPResponse(decoding: Array("ERR \(word)".utf8)) == .error(error))
    }

    @Test func blockedReasonIsMadePrintable() {
        #expect(XFTPProtocolError(text: "BLOCKED a\u{1b}[2Jb") == .blocked(reason: "a?[2Jb"))
    }

    @Test func invalidBlocksAreRejected() throws {
        let block = try #require(Transmission(sessionID: [1], body: [2]).block())
        #expect(throws: XFTPProtocolError.block) { try Transmission(block: block.dropLast()) }
        #expect(try Transmission(block: block + [1, 2, 3]).body == [2], "the chunk after the block")
        var batch = block
        batch[2] = 2
        #expect(throws: XFTPProtocolError.block) { try Transmission(block: batch) }
        var long = block
        (long[0], long[1]) = (0xff, 0xff)
        #expect(throws: XFTPProtocolError.block) { try Transmission(block: long) }
        #expect(Block.pad([UInt8](repeating: 0, count: 16_382))?.count == 16_384)
        #expect(Block.pad([UInt8](repeating: 0, count: 16_383)) == nil)
    }

    @Test(arguments: [true, false])
    func signedKeyIsCheckedAgainstTheLeaf(isWrapped: Bool) throws {
        let leaf = try SigningKey(seed: Vectors.senderSeed)
        let key = try AgreementKey(rawValue: Vectors.recipientSeed).publicKey
        let first = isWrapped ? SignedKey.bytesToSign(for: key) : key
        #expect(first.count == (isWrapped ? 46 : 44))
        let algorithm = Vectors.bytes("300506032b6570")
        let der = DERReader.encode(
            0x30, first + algorithm + DERReader.encode(0x03, [0] + leaf.sign(first)))
        if isWrapped {
            #expect(
                der == SignedKey.encode(key: key, algorithmIdentifier: algorithm, signature: leaf.sign(first))
            )
        }
        let signed = try #require(SignedKey(der))
        #expect(signed.key == key)
        #expect(signed.isSigned(by: leaf.verifyingKey))
        #expect(!signed.isSigned(by: try SigningKey(seed: Vectors.recipientSeed).verifyingKey))
    }
}
