import Base
import Cryptography

@testable import SMP

extension Target {
    /// Transmissions of messaging servers, and links to queues on them.
    static let messaging = [
        Target("smp-answer", "answers of messaging servers", longest: 1024) { bytes in
            for version in SMPVersion.servers {
                if let answer = Answer(decoding: bytes, version: version) {
                    // Older servers answer a subscription with OK.
                    let isSame =
                        Answer(decoding: answer.encoded(version: version), version: version) == answer
                        || answer == .subscribed
                    hold(isSame, "a written answer is the same")
                    if case .error(let error) = answer {
                        hold(error.text.utf8.allSatisfy { (32..<127).contains($0) }, "a refusal can be shown")
                        hold(error.text.utf8.count <= 200, "and is short")
                    }
                }
                if let transmission = Transmission(decoding: bytes, version: version) {
                    hold(transmission.encoded(version: version) == bytes, "a transmission has one form")
                }
            }
            if let batch = Batch.decode(bytes) { hold(Batch.encode(batch) == bytes, "a batch has one form") }
            if let body = DeliveredBody(decoding: bytes) {
                hold(body.encoded == bytes, "a body has one form")
            }
        },
        Target("smp-command", "requests to messaging servers", longest: 1024) { bytes in
            for version in SMPVersion.servers {
                if let command = Command(decoding: bytes, version: version) {
                    hold(command.encoded(version: version) == bytes, "a request has one form")
                }
            }
        },
        Target("smp-hello", "greetings of messaging servers and clients", longest: 2048) { bytes in
            if let hello = ServerHello(decoding: bytes) {
                let again = hello.block().flatMap { Padding.unpad($0) }.flatMap { ServerHello(decoding: $0) }
                hold(again == hello, "a written greeting of a server is the same")
                let peer = TLSPeer(
                    sessionID: hello.sessionID, certificates: hello.certificates,
                    fingerprint: [UInt8](repeating: 1, count: 32))
                _ = hello.block().flatMap {
                    try? SessionKeys.agree(block: $0, peer: peer, key: MessagingFixture.key)
                }
            }
            if let hello = ClientHello(decoding: bytes) {
                hold(
                    ClientHello(decoding: hello.encoded) == hello,
                    "a written greeting of a client is the same")
            }
        },
        Target("smp-session", "a connection to a messaging server", longest: 256) { bytes in
            var input = Input(bytes)
            var (session, server) = MessagingFixture.connected()
            var (asked, answered, now) = (0, 0, Duration.zero)
            var isClosed = false
            while !input.isAtEnd {
                var events: [ClientEvent] = []
                switch input.number(below: 4) {
                case 0:
                    let queue = ClientRequest(
                        input.bool() ? .subscribe : .acknowledge(messageID: [1]), of: input.some())
                    if (try? session.submit(queue, now: now)) != nil { asked += 1 }
                case 1: events = session.receive(server.seal(input.take(Int(input.byte()))), now: now)
                case 2: while session.takeBlock() != nil {}
                default:
                    now += .seconds(Int(input.byte()))
                    events = session.advance(to: now)
                }
                hold(!isClosed || events.isEmpty, "nothing is told after the end")
                for event in events {
                    switch event {
                    case .answered, .failed: answered += 1
                    case .closed: isClosed = true
                    default: break
                    }
                }
            }
            for case .failed in session.disconnect() { answered += 1 }
            hold(asked == answered, "every request has one end")
        },
        Target("queue-message", "messages in the box of a queue", longest: 512) { bytes in
            if let message = try? QueueMessage(decoding: bytes) {
                hold(message.encoded == bytes, "a message has one form")
                hold((try? message.open(secret: MessagingFixture.secret)) == nil, "nothing opens by chance")
            }
            if let content = QueueMessage.Content(decoding: bytes) {
                hold(content.encoded == bytes, "what is in it has one form")
            }
        },
        Target("connection-link", "links to people and groups, of both kinds", longest: 2048) { bytes in
            if let request = try? ConnectionRequest(link: bytes.text) {
                hold((try? ConnectionRequest(link: request.link)) == request, "a written link is the same")
                hold((try? ConnectionRequest(link: request.webLink)) == request, "in both forms")
            }
            if let link = try? ShortLink(link: bytes.text) {
                hold((try? ShortLink(link: link.link)) == link, "a written short link is the same")
                hold((try? ShortLink(link: link.webLink)) == link, "in both forms")
            }
            if let address = ServerAddress(bytes.text) {
                hold(ServerAddress(address.textWithPassword) == address, "a written address is the same")
            }
        },
        Target("link-data", "what short links lead to", longest: 4096) { bytes in
            var reader = ByteReader(bytes)
            if let request = ConnectionRequest(from: &reader) {
                var again = ByteReader(request.encoded)
                hold(ConnectionRequest(from: &again) == request, "a written request is the same")
            }
            if let (_, request) = LinkData.readFixed(bytes) {
                hold(!request.queues.isEmpty, "a request leads somewhere")
            }
            for kind in [ConnectionRequest.Kind.contact, MessagingFixture.invitation] {
                if let data = LinkData.readUser(bytes, kind: kind) {
                    hold(data.count <= bytes.count, "what is read was there")
                }
            }
        },
    ]
}

/// The keys and both ends of a connection.
private enum MessagingFixture {
    static let key = AgreementKey.generate()
    static let secret = WipedBytes([UInt8](repeating: 7, count: 32))

    static func connected() -> (ClientSession, BlockCipher) {
        let keys = SessionKeys(
            version: 17, sessionID: [1, 2, 3], serverKey: key.publicKey,
            blocks: BlockCipher(secret: secret, sessionID: [1, 2, 3], side: .client))
        return (
            ClientSession(keys: keys, now: .zero),
            BlockCipher(secret: secret, sessionID: [1, 2, 3], side: .server)
        )
    }

    static let invitation: ConnectionRequest.Kind = {
        guard let key = X448PublicKey(rawValue: [UInt8](repeating: 5, count: 56)) else {
            fatalError("the fixture cannot be made")
        }
        return .invitation(.init(versions: 2...3, first: key, second: key))
    }()
}
