import Base
import Cryptography
import Network
import TestSupport
import Testing

@testable import RemoteControl

@Suite struct RecordedSessionTests {
    @Test func linksMatchTheRecording() throws {
        for recorded in try RecordedSession.all() {
            let invitation = try recorded.invitation
            let (session, identity) = (try recorded.session, try recorded.identity)
            let signed = invitation.text(host: invitation.host, session: session, identity: identity)
            #expect(try signed == recorded.vector["signedBySession"].text)
            #expect(
                try Invitation.signedByIdentity(signed, session.sign(Array(signed.utf8)))
                    == recorded.vector["signedByIdentity"].text)
            #expect(
                try invitation.link(session: session, identity: identity)
                    == recorded.vector["invitation"].text)
        }
    }

    @Test func announcementsMatchTheRecording() throws {
        let recorded = try RecordedSession.all()[1]
        struct Nonce: RandomSource {
            let nonce: [UInt8]
            func bytes(_ count: Int) -> [UInt8] { nonce }
        }
        let vector = try recorded.vector["announcement"]
        let packet = try Announcement.packet(
            vector["plain"].text, key: recorded.agreement, phone: vector["usesHostDhOfSession1"].bytes,
            random: Nonce(nonce: vector["nonce"].bytes))
        #expect(packet.count == Announcement.size)
        #expect(try packet == vector["packet"].bytes)
    }

    @Test func certificatesOfBothSidesAreAPair() throws {
        for recorded in try RecordedSession.all() {
            let authority = try CertificateAuthority(
                certificate: recorded.vector["caCert"].bytes, seed: recorded.vector["caKey"].bytes)
            #expect(try authority.fingerprint == recorded.invitation.authority)
            try IdentityCheck.verify(
                [recorded.vector["leafCert"].bytes, recorded.vector["caCert"].bytes],
                fingerprint: authority.fingerprint)
            try IdentityCheck.verify(
                [recorded.vector["hostLeaf"].bytes, recorded.vector["hostCA"].bytes],
                fingerprint: recorded.phoneAuthority)
        }
    }

    @Test func codesMatchTheRecording() throws {
        for recorded in try RecordedSession.all() {
            let code = SessionCode(channelBinding: try recorded.channelBinding)
            #expect(try code.description == recorded.vector["sessionCode"].text)
            #expect(try code.shown == String(recorded.vector["sessionCode"].text.prefix(23)))
        }
    }

    @Test func helloOfThePhoneIsRead() throws {
        for recorded in try RecordedSession.all() {
            let hello = try recorded.phoneHello()
            #expect(try hello.agreementKey == recorded.vector["hostHello"]["hostDh"].bytes)
            #expect(try hello.secret.bytes == recorded.vector["hostHello"]["dhSecret"].bytes)
            #expect(try hello.kemKey == recorded.vector["ctrlHello"]["kemPublic"].bytes)
            #expect(hello.app.version == AppVersion("6.4.5.1"))
            #expect(hello.app.deviceName == "Deskü \"A<b>\"")
            #expect(hello.app.encoding == .kotlin)
            #expect(!hello.app.encryptsFiles)
        }
    }

    @Test func ownHelloMatchesTheRecording() throws {
        for recorded in try RecordedSession.all() {
            let hello = try recorded.controllerHello()
            #expect(try hello.block == recorded.vector["ctrlHello"]["block"].bytes)
        }
    }

    @Test func requestsMatchTheRecording() throws {
        for recorded in try RecordedSession.all() {
            var sealer = try recorded.sealer()
            for exchange in try recorded.vector["exchanges"].list {
                let json = Array(try exchange["commandPlain"].text.utf8)
                let isStoring = try exchange["command"]["type"].text == "storeFile"
                let file = isStoring ? BytesBody(try Self.storedFile(recorded)) : nil
                let body = try sealer.seal(json, attachment: file)
                #expect(try Self.bytes(of: body, pieces: 100) == exchange["request"].bytes)
            }
        }
    }

    @Test(arguments: [1, 7, 4096, Int.max])
    func answersAreReadHoweverTheyArrive(pieces: Int) throws {
        for recorded in try RecordedSession.all() {
            var chain = ReceivingChain(try recorded.controllerHello().receiving)
            for exchange in try recorded.vector["exchanges"].list {
                let answer = try CollectedAnswer(
                    exchange["response"].bytes, channelBinding: recorded.channelBinding, pieces: pieces
                ) { try chain.keys(of: $0) }
                #expect(try answer.json == Array(exchange["responsePlain"].text.utf8))
                let isFile = try exchange["command"]["type"].text == "getFile"
                #expect((answer.size != nil) == isFile)
                guard isFile, case .file(let size, let digest) = try PhoneAnswer(answer.json) else {
                    continue
                }
                #expect(size == 1280 && answer.size == size && answer.content.count == 1280)
                #expect(SHA512.hash(answer.content) == digest)
            }
        }
    }

    @Test func recordedAnswersAreUnderstood() throws {
        let exchanges = try RecordedSession.all()[0].vector["exchanges"].list
        let answers = try exchanges.map { try PhoneAnswer(Array($0["responsePlain"].text.utf8)) }
        guard case .response(let user) = answers[0], case .response = answers[1],
            case .event(nil) = answers[2], case .stored("vector.bin") = answers[3],
            case .response(let chats) = answers[4], case .response = answers[5], case .file = answers[6],
            case .refusal(let store) = answers[7], case .refusal(let parsing) = answers[8]
        else {
            Issue.record("other answers: \(answers)")
            return
        }
        #expect(user.type == "activeUser" && chats.type == "apiChats")
        #expect(store["storeError"]?.type == "contactNotFound")
        #expect(parsing["errorType"]?.type == "commandError")
    }

    /// The content that was stored on the phone and fetched again.
    private static func storedFile(_ recorded: RecordedSession) throws -> [UInt8] {
        var chain = ReceivingChain(try recorded.controllerHello().receiving)
        for exchange in try recorded.vector["exchanges"].list {
            let answer = try CollectedAnswer(
                exchange["response"].bytes, channelBinding: recorded.channelBinding
            ) { try chain.keys(of: $0) }
            if answer.size != nil { return answer.content }
        }
        return []
    }

    private static func bytes(of body: any BodySource, pieces: Int) throws -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < body.length {
            let offset = bytes.count
            bytes += try [UInt8](unsafeUninitializedCapacity: pieces) { buffer, count in
                count = try body.read(into: UnsafeMutableRawBufferPointer(buffer), at: offset)
            }
        }
        return bytes
    }
}
