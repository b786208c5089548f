import Base
import Cryptography
import Network
import TestSupport
import Testing

@testable import SMP
@testable import SMPClient

/// A server with a message in each queue. On its first connection it does not repeat the message.
private final class UnwillingServer: Sendable {
    let address: ServerAddress
    private let server: BlockServer

    /// - Parameter refusal: The answer to a repeated subscription on the first connection.
    init(refusal: Answer) throws {
        let identity = try NewServerIdentity.make(.ed25519, hostName: "localhost").identity
        let connections = Lock(0)
        server = try BlockServer.start(
            on: Endpoint(host: "127.0.0.1", port: 0),
            tls: TLSServerSettings(identity: identity, applicationProtocols: ["smp/1"]),
            size: TransportBlock.size, connections: 8, handshake: .seconds(60)
        ) { connection in
            let number = connections.withLock { count in
                count += 1
                return count
            }
            try Self.serve(connection, identity, refusal, isFirst: number == 1)
        }
        guard
            let address = ServerAddress(
                fingerprint: identity.fingerprint, hosts: ["127.0.0.1"], port: server.endpoint.port)
        else { throw WaitedInVain("an address") }
        self.address = address
    }

    private static func serve(
        _ connection: BlockServer.Connection, _ identity: ServerIdentity, _ refusal: Answer, isFirst: Bool
    ) throws {
        let (stream, key) = (connection.stream, AgreementKey.generate())
        let hello = ServerHello(
            versions: SMPVersion.servers, sessionID: stream.channelBinding,
            certificates: identity.certificates,
            signedKey: SignedKey.encode(
                key: key.publicKey, algorithmIdentifier: identity.kind.algorithmIdentifier,
                signature: try identity.sign(SignedKey.bytesToSign(for: key.publicKey))))
        try stream.send(hello.block() ?? [])
        var known: ServerSession?
        var subscribed: Set<[UInt8]> = []
        while !connection.isStopping {
            try stream.flush()
            guard let block = try stream.receive() else {
                stream.wait(atMost: .seconds(60))
                continue
            }
            guard var session = known else {
                known = try ServerSession(
                    hello: block, sessionID: stream.channelBinding, fingerprint: identity.fingerprint,
                    key: key)
                continue
            }
            for received in try session.receive(block) {
                guard let received else { continue }
                let (number, queue) = (received.transmission.correlationID, received.transmission.entityID)
                guard case .success(.subscribe) = received.command else {
                    session.submit(.pong, correlationID: number, entityID: queue)
                    continue
                }
                let isNew = subscribed.insert(queue).inserted
                if isFirst, !isNew {
                    session.submit(refusal, correlationID: number, entityID: queue)
                    continue
                }
                session.submit(.subscribed, correlationID: number, entityID: queue)
                session.submit(.message(id: queue, body: queue), correlationID: [], entityID: queue)
            }
            while let block = session.takeBlock() { try stream.send(block) }
            known = session
        }
    }

    func stop() async { await server.stop() }
}

@Suite("Messages left on a server for lack of room")
struct HeldMessageTests {
    @Test(
        "a refused fetch leads to a new connection",
        arguments: [Answer.error(.internalError), .error(.authorization), .pong])
    func refused(answer: Answer) async throws {
        let server = try UnwillingServer(refusal: answer)
        let connections = QueueConnections(.forTests)
        let requests = (0..<140).map { number in
            ClientRequest(
                .subscribe, of: [UInt8](repeating: UInt8(number), count: 24), key: .signing(.generate()),
                timeout: .seconds(60))
        }
        let answers = await connections.ask(requests, of: server.address)
        #expect(answers.allSatisfy { (try? $0.get()) == .subscribed })
        // Its answer comes after all messages.
        let ping = ClientRequest(.ping, timeout: .seconds(60))
        #expect(try await connections.ask(ping, of: server.address) == .pong)
        #expect(connections.waitingMessages == QueueConnections.waitingMessages)

        let heard = Lock<[QueueServerEvent]>([], rank: .collection)
        let events = connections.events
        let listener = Task { for await event in events { heard.withLock { $0.append(event) } } }
        try await wait(until: "there is a new connection") {
            heard.withLock { $0.contains(.connected(server.address)) }
        }
        _ = await connections.ask(requests, of: server.address)
        try await wait(until: "every message has come") {
            let queues = heard.withLock { heard in
                heard.compactMap { event in
                    if case .delivered(_, let queue, _, _) = event { queue } else { nil }
                }
            }
            return Set(queues).count == requests.count
        }
        listener.cancel()
        await connections.close()
        await server.stop()
    }
}
