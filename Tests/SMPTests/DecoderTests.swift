import Base
import Cryptography
import TestSupport
import Testing

@testable import SMP

/// Decoders of outside bytes never trap, have one form per value, and respect limits.
@Suite struct DecoderTests {
    @Test(arguments: [
        "AUTH", "BLOCK", "SESSION", "QUOTA", "NO_MSG", "LARGE_MSG", "EXPIRED", "CRYPTO", "SERVICE",
        "INTERNAL",
        "CMD UNKNOWN", "CMD SYNTAX", "CMD PROHIBITED", "CMD NO_AUTH", "CMD HAS_AUTH", "CMD NO_ENTITY",
        "BLOCKED reason=spam", "PROXY NO_SESSION", "PROXY BROKER TIMEOUT",
    ])
    func everyErrorIsKnown(word: String) {
        let error = ServerError(Array(word.utf8))
        #expect(error.text == word)
        if case .other = error { Issue.record("\(word) is not known") }
        #expect(Answer(decoding: Array("ERR \(word)".utf8), version: 17) == .error(error))
        #expect(!SMPError(error).sentence.isEmpty)
    }

    @Test func outsideErrorsArePrintable() {
        #expect(ServerError(Array("BLOCKED a\u{1b}[2Jb".utf8)) == .blocked(reason: "a?[2Jb"))
        #expect(ServerError(Array("LATER x\u{7}".utf8)) == .other("LATER x?"))
        #expect(ServerError([UInt8](repeating: 65, count: 9999)).text.utf8.count == 200)
        #expect(ServerError(Array("STORE /var/lib/secret".utf8)) == .store)
        #expect(Answer(decoding: Array("NEW\u{1b}WORD 1".utf8), version: 17) == .unknown(word: "NEW?WORD"))
        #expect(Answer(decoding: [], version: 17) == .unknown(word: ""))
    }

    @Test func answersOfWrongLengthAreRefused() throws {
        let ids = Answer.QueueIDs(
            recipientID: Known.recipientID, senderID: Known.senderID,
            boxKey: try Known.agreement(4).publicKey,
            mode: .messaging, linkID: [1])
        for version in SMPVersion.servers {
            for answer in [.created(ids), .link(senderID: [1], data: LinkBlobs(fixed: [1], user: [2]))]
                as [Answer]
            {
                let encoded = answer.encoded(version: version)
                #expect(Answer(decoding: encoded, version: version) == answer)
                #expect(Answer(decoding: encoded + [0], version: version) == nil)
                for count in 4..<encoded.count {
                    #expect(Answer(decoding: Array(encoded.prefix(count)), version: version) == nil)
                }
            }
            for text in ["OK x", "PONG x", "END x", "DELD x"] {
                #expect(Answer(decoding: Array(text.utf8), version: version) == nil)
            }
        }
        #expect(Answer(decoding: Array("SOK 0".utf8), version: 17) == .subscribed)
        #expect(Answer(decoding: Array("SOK".utf8), version: 17) == nil)
        #expect(Answer(decoding: Array("SOK 1".utf8) + [2, 7, 7], version: 17) == .subscribed)
    }

    @Test func commandsSurviveMutation() throws {
        var generator = SeededGenerator(state: 11)
        let samples = try CommandVectorTests.samples()
        for round in 0..<6000 {
            let sample = samples[round % samples.count]
            let bytes = generator.mutated(sample.command.encoded(version: sample.version))
            if let read = Command(decoding: bytes, version: sample.version) {
                #expect(read.encoded(version: sample.version) == bytes, "a command has one form")
            }
            let transmission = Transmission(
                authorization: [1, 2], correlationID: Known.correlationID, entityID: sample.entityID,
                body: bytes
            ).encoded(version: sample.version)
            let mutated = generator.mutated(transmission)
            if let read = Transmission(decoding: mutated, version: sample.version) {
                #expect(read.encoded(version: sample.version) == mutated, "a transmission has one form")
            }
            if let read = Batch.decode(generator.mutated(Batch.encode([transmission, transmission]))) {
                #expect(Batch.decode(Batch.encode(read)) == read)
            }
        }
    }

    @Test func linksSurviveMutation() throws {
        var generator = SeededGenerator(state: 12)
        let request = try #require(
            ConnectionRequest(kind: .invitation(Known.offer()), queues: [Known.queue()], data: "{}"))
        let short = try #require(
            ShortLink(
                kind: .invitation, server: Known.server(), id: Known.recipientID,
                key: [UInt8](repeating: 1, count: 32)))
        for _ in 0..<3000 {
            let text = String(decoding: generator.mutated(Array(request.link.utf8)), as: UTF8.self)
            if let read = try? ConnectionRequest(link: text) {
                #expect(try ConnectionRequest(link: read.link) == read)
            }
            let shortText = String(decoding: generator.mutated(Array(short.webLink.utf8)), as: UTF8.self)
            if let read = try? ShortLink(link: shortText) { #expect(try ShortLink(link: read.link) == read) }
            var reader = ByteReader(generator.mutated(request.encoded))
            if let read = ConnectionRequest(from: &reader) {
                var again = ByteReader(read.encoded)
                #expect(ConnectionRequest(from: &again) == read)
            }
        }
    }

    @Test func bodiesSurviveMutation() throws {
        var generator = SeededGenerator(state: 13)
        let body = DeliveredBody.message(
            received: 1, flags: Array("T".utf8), body: Array("hello".utf8))
        let content = QueueMessage.Content(
            authorizationKey: try Known.signing(7).publicKey, envelope: Array("C".utf8))
        let message = try QueueMessage(
            sealing: content, version: 4, senderKey: Known.agreement(8).publicKey,
            secret: WipedBytes([UInt8](repeating: 1, count: 32)), nonce: Known.correlationID)
        for _ in 0..<3000 {
            let bytes = generator.mutated(body.encoded)
            if let read = DeliveredBody(decoding: bytes) { #expect(read.encoded == bytes) }
            let inner = generator.mutated(content.encoded)
            if let read = QueueMessage.Content(decoding: inner) { #expect(read.encoded == inner) }
            let outer = generator.mutated(Array(message.encoded.prefix(200)))
            if let read = try? QueueMessage(decoding: outer) { #expect(read.encoded == outer) }
        }
        let long = QueueMessage.Content(envelope: [UInt8](repeating: 1, count: 16_000))
        expect(.tooLong) {
            try QueueMessage(
                sealing: long, version: 4, senderKey: nil,
                secret: WipedBytes([UInt8](repeating: 1, count: 32)),
                nonce: Known.correlationID)
        }
    }
}

extension SeededGenerator {
    /// Returns the bytes with some changes, removals, repetitions or additions.
    mutating func mutated(_ original: [UInt8]) -> [UInt8] {
        var bytes = original
        for _ in 0..<Int.random(in: 1...4, using: &self) {
            let place = Int.random(in: 0...bytes.count, using: &self)
            switch Int.random(in: 0..<5, using: &self) {
            case 0 where place < bytes.count: bytes[place] = UInt8.random(in: 0...255, using: &self)
            case 1 where place < bytes.count: bytes.remove(at: place)
            case 2: bytes.insert(UInt8.random(in: 0...255, using: &self), at: place)
            case 3: bytes.removeSubrange(place...)
            default: bytes.insert("0123456789MCTF,;:/&=%#?".utf8.randomElement(using: &self) ?? 0, at: place)
            }
        }
        return bytes
    }
}
