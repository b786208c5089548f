import Base
import TestSupport
import Testing

@testable import Cryptography
@testable import SMP

/// Both sessions of one connection.
struct Conversation {
    var client: ClientSession
    var server: ServerSession
    /// The client's session keys, for tests that bypass its requests.
    let keys: SessionKeys

    static let start = Duration.seconds(1000)

    /// - Parameter versions: The versions of the server.
    init(versions: ClosedRange<UInt16> = SMPVersion.servers, seed: UInt64 = 1) throws {
        let random = SeededBytes(seed)
        let serverKey = AgreementKey.generate(random: random)
        let hello = try Self.hello(key: serverKey.publicKey, versions: versions)
        let agreed = try SessionKeys.agree(
            block: #require(hello.block()), peer: Self.peer(of: hello), key: .generate(random: random))
        keys = agreed.keys
        client = ClientSession(keys: keys, now: Self.start, random: random)
        server = try ServerSession(
            hello: agreed.hello, sessionID: Known.sessionID, fingerprint: Known.fingerprint, key: serverKey)
    }

    /// Returns a server's hello with a certificate that signs its key.
    static func hello(
        key: [UInt8], versions: ClosedRange<UInt16> = SMPVersion.servers, sessionID: [UInt8] = Known.sessionID
    ) throws -> ServerHello {
        let leaf = try Known.signing(1)
        return ServerHello(
            versions: versions, sessionID: sessionID,
            certificates: [certificate(leaf), certificate(try Known.signing(2))],
            signedKey: SignedKey.encode(
                key: key, algorithmIdentifier: [0x30, 5, 6, 3, 0x2b, 0x65, 0x70],
                signature: leaf.sign(SignedKey.bytesToSign(for: key))))
    }

    static func peer(of hello: ServerHello) -> TLSPeer {
        TLSPeer(
            sessionID: hello.sessionID, certificates: hello.certificates, fingerprint: Known.fingerprint)
    }

    /// The part of a certificate that is read: its key.
    private static func certificate(_ key: SigningKey) -> [UInt8] {
        let field = DERReader.encode(0x30, [])
        let fields = DERReader.encode(0x02, [1]) + field + field + field + field + key.publicKey
        return DERReader.encode(0x30, DERReader.encode(0x30, fields) + field + DERReader.encode(0x03, [0]))
    }

    /// Returns the client's pending transmissions as the server receives them.
    mutating func received() throws -> [ServerSession.Received] {
        var all: [ServerSession.Received] = []
        while let block = client.takeBlock() {
            for received in try server.receive(block) { all.append(try #require(received)) }
        }
        return all
    }

    /// Returns the client's events for the server's pending blocks.
    mutating func events(at now: Duration = start) -> [ClientEvent] {
        var events: [ClientEvent] = []
        while let block = server.takeBlock() { events += client.receive(block, now: now) }
        return events
    }
}

extension Command {
    /// One command of each kind, with and without each optional part.
    static func all() throws -> [Command] {
        let (signing, agreement) = (try Known.signing(5).publicKey, try Known.agreement(6).publicKey)
        let box = try Known.agreement(1).publicKey
        let blobs = LinkBlobs(fixed: [1, 2, 3], user: [4])
        func queue(_ mode: QueueMode?, _ link: NewLink?, password: [UInt8]?, subscribes: Bool) -> Command {
            .new(
                NewQueue(
                    recipientKey: subscribes ? signing : agreement, boxKey: box, password: password,
                    subscribes: subscribes, mode: mode, link: link))
        }
        return [
            queue(nil, nil, password: nil, subscribes: true),
            queue(.messaging, nil, password: Array("secret".utf8), subscribes: false),
            queue(
                .messaging, NewLink(id: nil, senderID: Known.senderID, data: blobs), password: nil,
                subscribes: true),
            queue(
                .contact, NewLink(id: Known.recipientID, senderID: Known.senderID, data: blobs),
                password: nil,
                subscribes: false),
            .subscribe, .secure(senderKey: signing), .secure(senderKey: agreement),
            .acknowledge(messageID: Known.messageID), .suspend, .delete, .queueInformation,
            .linkSet(id: Known.recipientID, data: blobs), .linkDelete, .senderKey(key: signing),
            .send(flags: [], body: []), .send(flags: Array("T".utf8), body: Array("two words".utf8)),
            .linkKey(key: agreement), .linkGet, .ping,
            .proxy(to: try Known.server(), password: nil),
            .proxy(to: try Known.server(hosts: ["::1", "b"], port: nil), password: [1]),
            .proxyForward(version: 16, key: agreement, box: [1, 2, 3]), .relayForward(box: [9, 8]),
            .relayForward(box: []),
        ]
    }
}

extension Answer {
    /// One answer of each kind that a relay of this program sends.
    static func all() throws -> [Answer] {
        let box = try Known.agreement(4).publicKey
        func ids(_ mode: QueueMode?, _ link: [UInt8]?) -> Answer {
            .created(
                QueueIDs(
                    recipientID: Known.recipientID, senderID: Known.senderID, boxKey: box, mode: mode,
                    linkID: link))
        }
        return [
            ids(nil, nil), ids(.messaging, nil), ids(.contact, Known.recipientID), .ok,
            .message(id: Known.messageID, body: [1, 2]), .message(id: Known.messageID, body: []),
            .link(senderID: Known.senderID, data: LinkBlobs(fixed: [1], user: [])),
            .information(Array("{}".utf8)), .end, .deleted, .pong,
            .proxyOpened(
                ProxiedServer(
                    sessionID: Known.sessionID, versions: 15...17, certificates: [[1], [2, 3]], signedKey: [4]
                )),
            .forwarded(box: [5, 6]), .handedOn(box: []), .error(.authorization),
            .error(.blocked(reason: "spam")),
            .error(.proxy("BROKER TIMEOUT")), .error(.command(.hasAuthorization)),
        ]
    }
}
