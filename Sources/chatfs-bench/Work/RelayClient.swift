import Base
import Cryptography
import Network
import Posix
import SMP

/// A connection to a relay for messages that sends one request after another, or arbitrary bytes. Blocks, and belongs
/// to one thread.
final class RelayClient {
    private let stream: BlockStream
    private var session: ClientSession
    private var blocks: BlockCipher
    private static let bound = Duration.seconds(60)

    init(_ server: ServerAddress) throws {
        stream = try BlockStream.connect(
            to: Endpoint(host: server.hosts[0], port: server.port),
            tls: TLSClientSettings(identityFingerprint: server.fingerprint, applicationProtocols: ["smp/1"]),
            size: TransportBlock.size, timeout: Self.bound, stop: WakeUp(), wakeUp: WakeUp())
        let peer = TLSPeer(
            sessionID: stream.channelBinding, certificates: stream.peerCertificates,
            fingerprint: server.fingerprint)
        let key = AgreementKey.generate()
        let (keys, hello) = try SessionKeys.agree(block: Self.block(of: stream), peer: peer, key: key)
        try stream.send(hello)
        session = ClientSession(keys: keys, now: .zero)
        blocks = BlockCipher(
            secret: try key.wipedSecret(with: keys.serverKey), sessionID: keys.sessionID, side: .client)
    }

    private static func block(of stream: BlockStream) throws -> [UInt8] {
        let end = ContinuousClock.now + bound
        while ContinuousClock.now < end {
            try stream.flush()
            if let block = try stream.receive() { return block }
            stream.wait(atMost: .seconds(1))
        }
        throw BenchError(.failed, "A relay did not answer within a minute.")
    }

    /// Returns the answer to a request.
    func ask(_ request: ClientRequest) throws -> Answer {
        let id = try session.submit(request, now: .zero)
        while let block = session.takeBlock() { try stream.send(block) }
        while true {
            for event in session.receive(try Self.block(of: stream), now: .zero) {
                switch event {
                case .answered(id, let answer): return answer
                case .failed, .closed: throw BenchError(.failed, "A relay sent an invalid answer.")
                default: continue
                }
            }
        }
    }

    /// Returns the milliseconds until a request is answered.
    func latency(_ request: ClientRequest) throws -> Double {
        let start = ContinuousClock.now
        _ = try ask(request)
        return start.duration(to: .now) / .milliseconds(1)
    }

    /// Creates a queue whose messages are never fetched. Returns its sender's address.
    func contactQueue() throws -> [UInt8] {
        let key = SigningKey.generate()
        let new = Command.NewQueue(
            recipientKey: key.publicKey, boxKey: AgreementKey.generate().publicKey, subscribes: false,
            mode: .contact)
        guard case .created(let ids) = try ask(ClientRequest(.new(new), key: .signing(key))) else {
            throw BenchError(.failed, "A relay made no queue.")
        }
        return ids.senderID
    }

    // MARK: Attacks

    /// Sends the same transmissions repeatedly, as fast as the relay accepts them, until a time. The request function
    /// is unusable afterwards.
    /// - Parameters:
    ///   - reads: Whether answers are read.
    ///   - most: The maximum number of blocks.
    func flood(
        _ transmissions: [[UInt8]], reads: Bool, most: Int, until end: ContinuousClock.Instant
    ) throws {
        let content = Batch.encode(transmissions)
        var sent = 0
        while ContinuousClock.now < end {
            if try stream.flush(), sent < most {
                try stream.send(blocks.seal(content))
                sent += 1
            } else {
                stream.wait(receives: reads, atMost: .milliseconds(100))
            }
            if reads { while try stream.receive() != nil {} }
        }
        stream.shutDown()
    }
}
