import Base
import Cryptography
import TestSupport
import Testing

@testable import XFTP

/// Random mutations of valid input: no parser traps, and accepted values round-trip.
@Suite struct ParserFuzzTests {
    @Test func descriptionsSurviveMutation() throws {
        var generator = SeededGenerator(state: 1)
        var seeds = [Array(try Vectors.description().text.utf8)]
        for file in ["tiny/recipient.yaml", "mid/sender.yaml"] {
            seeds.append(try OfficialFilesTests.resource(file))
        }
        seeds.append(Array("{a: [b, 'c', \"d\\u0041\"], e: {f: g}}".utf8))
        for round in 0..<6_000 {
            let bytes = generator.mutated(seeds[round % seeds.count])
            let text = String(decoding: bytes, as: UTF8.self)
            guard let description = try? FileDescription(parsing: text) else { continue }
            #expect(try FileDescription(parsing: description.text).text == description.text)
        }
    }

    /// Two parts of the parser must find the end of a quoted key at the same place.
    @Test func quotedKeysSurviveQuotesAndBackslashes() throws {
        #expect(throws: XFTPError.self) { try FileDescription(parsing: "'\\'': '") }
        var generator = SeededGenerator(state: 5)
        let letters = Array("'\"\\: a\n#-{}[],".utf8)
        for _ in 0..<30_000 {
            let bytes = (0..<Int(generator.next() % 14)).map { _ in
                letters[Int(generator.next() % UInt64(letters.count))]
            }
            _ = try? YAMLParser.parse(String(decoding: bytes, as: UTF8.self))
        }
        #expect(try YAMLParser.parse("'it''s': a")["it's"]?.text == "a")
        #expect(try YAMLParser.parse("\"a\\\"b\": c")["a\"b"]?.text == "c")
        #expect(try YAMLParser.parse("'a\\': c")["a\\"]?.text == "c")
    }

    /// Regression: each `#` made the parser scan back to the start of its line, minutes for a megabyte.
    @Test(.timeLimit(.minutes(10))) func megabyteLineIsParsedInLinearTime() {
        let text = "[" + String(repeating: "#,", count: 390_000) + "]"
        #expect(throws: XFTPError.self) { try FileDescription(parsing: text) }
    }

    @Test func linksAndAddressesSurviveMutation() throws {
        var generator = SeededGenerator(state: 2)
        let link = Array(FileLink(try Vectors.description(), data: "{}").text.utf8)
        let address = Array(Vectors.address.utf8)
        for _ in 0..<3_000 {
            if let read = try? FileLink(parsing: String(decoding: generator.mutated(link), as: UTF8.self)) {
                #expect(try FileLink(parsing: read.text) == read)
            }
            let text = String(decoding: generator.mutated(address), as: UTF8.self)
            if let read = RelayAddress(text) { #expect(RelayAddress(read.textWithPassword) == read) }
        }
    }

    @Test func wireFormatsSurviveMutation() throws {
        var generator = SeededGenerator(state: 3)
        let key = try SigningKey(seed: Vectors.senderSeed)
        let chunk = XFTPCommand.NewChunk(
            senderKey: key.publicKey, size: 65_536, digest: Vectors.chunkDigest,
            recipientKeys: [key.publicKey, key.publicKey], password: [1, 2])
        let commands = [XFTPCommand.create(chunk), .ping, .addRecipients(keys: [key.publicKey])].map(
            \.encoded)
        let responses = [
            XFTPResponse.created(sender: [1, 2], recipients: [[3], [4]]), .error(.quota),
            .added(recipients: [[1]]),
            .file(key: key.publicKey, nonce: Vectors.nonce),
        ].map(\.encoded)
        let hello = try Vectors.message(
            in: ServerHello(
                versions: 1...3, sessionID: Vectors.key, certificates: [[1], [2]], signedKey: [3]
            ).block(ending: ServerHello.noProof))
        let signedKey = SignedKey.encode(
            key: try AgreementKey(rawValue: Vectors.key).publicKey,
            algorithmIdentifier: Vectors.bytes("300506032b6570"), signature: key.sign([1]))
        let transmission = Transmission(sessionID: Vectors.key, body: [1, 2, 3]).signed(by: key)
        let message = try Vectors.message(in: transmission.block())
        for round in 0..<5_000 {
            if let read = try? XFTPCommand(decoding: generator.mutated(commands[round % commands.count])) {
                #expect(try XFTPCommand(decoding: read.encoded) == read)
            }
            if let read = XFTPResponse(decoding: generator.mutated(responses[round % responses.count])) {
                #expect(XFTPResponse(decoding: read.encoded) == read)
            }
            _ = ServerHello(decoding: generator.mutated(hello))
            _ = ClientHello(decoding: generator.mutated([0, 3, 32] + Vectors.key))
            if let read = try? Transmission(message: generator.mutated(message)) {
                #expect(read.block().flatMap { try? Transmission(block: $0) } == read)
            }
            if let read = SignedKey(generator.mutated(signedKey)) { #expect(!read.key.isEmpty) }
            _ = SignedKey.publicKey(ofCertificate: generator.mutated(signedKey))
            let header = FileHeader.encode(name: "ü.bin", contentSize: 5_000)
            if let read = FileHeader(stream: generator.mutated(header), streamSize: 65_536) {
                #expect(read.contentOffset + read.contentSize + 16 <= 65_536)
            }
        }
    }
}
