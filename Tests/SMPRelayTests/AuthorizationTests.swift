import Base
import Cryptography
import Network
import TestSupport
import Testing

@testable import SMP
@testable import SMPRelay

@Suite("Command authorization")
struct AuthorizationTests {
    private static let authority = SessionAuthority(sessionID: [1], key: .generate(), secret: nil)
    private static let key = SigningKey.generate()

    private static func received(
        _ command: Command, of entity: [UInt8] = [], key: SigningKey?
    ) -> ServerSession.Received {
        var transmission = Transmission(
            correlationID: SystemRandomSource().bytes(24), entityID: entity,
            body: command.encoded(version: 17))
        if let key { transmission.authorization = key.sign(transmission.signedBytes(sessionID: [1])) }
        return ServerSession.Received(transmission, .success(command))
    }

    /// Returns the request, or the error of the command.
    private static func examined(
        _ received: ServerSession.Received, _ authorization: inout Authorization, author: CommandAuthor
    ) throws -> Result<Request, ServerError> {
        switch try authorization.examine(received, size: 0, { _ in author }) {
        case .request(let request): return .success(request)
        case .answered(let message):
            guard case .answer(.error(let error)) = message.content else { throw WaitedInVain("a refusal") }
            return .failure(error)
        }
    }

    private static func newQueue(password: String?) -> Command {
        .new(
            .init(
                recipientKey: key.publicKey, boxKey: AgreementKey.generate().publicKey,
                password: password.map { Array($0.utf8) }, mode: .messaging))
    }

    @Test("the password is checked before records and signatures")
    func passwordFirst() throws {
        var authorization = Authorization(Self.authority, password: "word", handsOn: false)
        for password in [nil, "", "wore", "words"] {
            let received = Self.received(Self.newQueue(password: password), key: Self.key)
            let examined = try authorization.examine(received, size: 0) { _ in
                Issue.record("the records were read")
                return .unknown
            }
            guard case .answered(let message) = examined, case .answer(let answer) = message.content else {
                throw WaitedInVain("an answer")
            }
            #expect(answer == .error(.authorization))
        }
        let right = Self.received(Self.newQueue(password: "word"), key: Self.key)
        let found = try Self.examined(right, &authorization, author: .owner(of: Self.key.publicKey))
        #expect(try found.get().signer == Self.key.publicKey)
    }

    @Test("a wrong key authorises nothing")
    func wrongKey() throws {
        var authorization = Authorization(Self.authority, password: nil, handsOn: false)
        let received = Self.received(.subscribe, of: [2], key: Self.key)
        let others = SigningKey.generate().publicKey
        for author in [CommandAuthor.owner(of: others), .unknown] {
            let found = try Self.examined(received, &authorization, author: author)
            #expect(throws: ServerError.authorization) { try found.get() }
        }
    }

    @Test("a client that secures a queue can send at once")
    func securedAndSent() throws {
        var authorization = Authorization(Self.authority, password: nil, handsOn: false)
        let send = Self.received(.text("a"), of: [3], key: Self.key)
        let before = try Self.examined(send, &authorization, author: .unknown)
        #expect(throws: ServerError.authorization) { try before.get() }
        let secure = Self.received(.senderKey(key: Self.key.publicKey), of: [3], key: Self.key)
        _ = try Self.examined(secure, &authorization, author: .owner(of: Self.key.publicKey)).get()
        #expect(try Self.examined(send, &authorization, author: .unknown).get().signer == Self.key.publicKey)
        let elsewhere = Self.received(.text("a"), of: [4], key: Self.key)
        let found = try Self.examined(elsewhere, &authorization, author: .unknown)
        #expect(throws: ServerError.authorization) { try found.get() }
    }

    @Test("securing and sending work in one block")
    func oneBlock() async throws {
        let place = try RelayPlace()
        try await blocking {
            let (owner, sender) = (
                try RawClient.connected(to: place.relay.address),
                try RawClient.connected(to: place.relay.address)
            )
            let queue = try owner.queue()
            let id = queue.ids.senderID
            let answers = try sender.ask([
                ClientRequest(
                    .senderKey(key: Self.key.publicKey), of: id, key: .signing(Self.key)),
                ClientRequest(.text("hello"), of: id, key: .signing(Self.key)),
            ])
            #expect(answers == [.ok, .ok])
            #expect(try owner.message().queue == queue.ids.recipientID)
        }
        await place.stop()
    }
}
