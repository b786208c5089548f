import Base
import Cryptography
import Network
import Testing
import XFTP
import XFTPRelay

@Suite struct CommandTests {
    @Test(arguments: [65_536, 262_144, 1_048_576, 4_194_304])
    func chunksOfEachSizeRoundTrip(_ size: Int) async throws {
        let place = try RelayPlace()
        let talk = try await place.connect()
        var chunk = TestChunk(size: size)
        try await chunk.create(on: talk)
        let before = try await chunk.get(on: talk)
        #expect(before == .failure(.noFile))
        let answer = try await chunk.put(on: talk)
        #expect(answer == .ok)
        for _ in 0..<2 {
            let bytes = try await chunk.get(on: talk).get()
            #expect(bytes == chunk.bytes)
        }
        #expect(place.relay.storedBytes == UInt64(size))
        await place.relay.stop()
    }

    @Test func helloProvesTheRelaysIdentity() async throws {
        for kind in CertificateKind.allCases {
            let place = try RelayPlace { $0.certificate = kind }
            let talk = try await place.connect()
            #expect(talk.hello.versions == 1...3)
            #expect(talk.hello.sessionID == talk.client.channelBinding)
            #expect(talk.hello.certificates == talk.client.peerCertificates)
            // SEQUENCE { SEQUENCE { key }, algorithm, BIT STRING }: the signature is the leaf's.
            let content = talk.hello.signedKey.dropFirst(kind == .ed25519 ? 2 : 3)
            let object = Array(content.prefix(46))
            let signature = Array(content.suffix(kind == .ed25519 ? 64 : 114))
            let key = try #require(VerifyingKey(spki: talk.client.peerPublicKey))
            #expect(key.isValid(signature, for: object))
            #expect(Array(object.prefix(2)) == [0x30, 0x2c])
            await place.relay.stop()
        }
    }

    @Test func pingNeedsNoSignature() async throws {
        let place = try RelayPlace()
        let talk = try await place.connect()
        let pong = try await talk.ask(.ping)
        #expect(pong == .pong)
        let key = SigningKey.generate()
        let signed = try await talk.ask(.ping, key: key)
        #expect(signed == .error(.command(.hasSignature)))
        let aboutSomething = try await talk.ask(.ping, entity: [1])
        #expect(aboutSomething == .error(.command(.hasSignature)))
        await place.relay.stop()
    }

    @Test func addedRecipientsCanFetch() async throws {
        let place = try RelayPlace()
        let talk = try await place.connect()
        var chunk = TestChunk(recipients: 2)
        try await chunk.create(on: talk)
        _ = try await chunk.put(on: talk)
        let late = TestChunk(recipients: 3)
        let answer = try await talk.ask(
            .addRecipients(keys: late.recipients.map(\.publicKey)), entity: chunk.senderID, key: chunk.sender)
        guard case .added(let ids) = answer else {
            Issue.record("FADD was refused")
            return
        }
        #expect(Set(ids + chunk.recipientIDs).count == 5)
        var other = late
        other.recipientIDs = ids
        let bytes = try await other.get(on: talk, recipient: 2).get()
        #expect(bytes == chunk.bytes)
        await place.relay.stop()
    }

    @Test func deletingEndsAccessAndFreesTheDisk() async throws {
        let place = try RelayPlace()
        let talk = try await place.connect()
        var chunk = TestChunk()
        try await chunk.create(on: talk)
        _ = try await chunk.put(on: talk)
        let answer = try await talk.ask(.delete, entity: chunk.senderID, key: chunk.sender)
        #expect(answer == .ok)
        let after = try await chunk.get(on: talk)
        #expect(after == .failure(.authorization))
        let again = try await talk.ask(.delete, entity: chunk.senderID, key: chunk.sender)
        #expect(again == .error(.authorization))
        #expect(place.relay.storedBytes == 0)
        let names = try place.folder.names(in: "relay/chunks")
        #expect(names.isEmpty)
        await place.relay.stop()
    }

    @Test func acknowledgingEndsOneRecipientsAccess() async throws {
        let place = try RelayPlace()
        let talk = try await place.connect()
        var chunk = TestChunk(recipients: 2)
        try await chunk.create(on: talk)
        _ = try await chunk.put(on: talk)
        let answer = try await talk.ask(
            .acknowledge, entity: chunk.recipientIDs[0], key: chunk.recipients[0])
        #expect(answer == .ok)
        let own = try await chunk.get(on: talk, recipient: 0)
        #expect(own == .failure(.authorization))
        let others = try await chunk.get(on: talk, recipient: 1)
        #expect(others == .success(chunk.bytes))
        await place.relay.stop()
    }

    @Test func sixteenDownloadsRunOnOneConnection() async throws {
        let place = try RelayPlace()
        let talk = try await place.connect()
        var made = TestChunk(size: 1_048_576)
        try await made.create(on: talk)
        _ = try await made.put(on: talk)
        let chunk = made
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<16 {
                group.addTask {
                    let bytes = try await chunk.get(on: talk).get()
                    #expect(bytes == chunk.bytes)
                }
            }
            try await group.waitForAll()
        }
        await place.relay.stop()
    }
}
