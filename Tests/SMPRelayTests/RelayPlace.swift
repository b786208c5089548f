import Base
import Cryptography
import Network
import Posix
import TestSupport
import Testing

@testable import SMP
@testable import SMPRelay

/// A relay on loopback with its own folder.
final class RelayPlace: Sendable {
    let folder: TemporaryFolder
    let relay: MessageRelay
    let clock = HandSetClock()

    init(_ change: (inout MessageRelaySettings) -> Void = { _ in }) throws {
        folder = try TemporaryFolder()
        var settings = MessageRelaySettings(
            folder: folder.path("relay"),
            identity: try NewServerIdentity.make(.ed25519, hostName: "localhost").identity, clock: clock)
        change(&settings)
        relay = try MessageRelay.start(settings)
    }

    /// The path of the relay's database, for a second connection.
    var recordsPath: String { folder.path("relay/queues.db") }

    func stop() async { await relay.stop() }
}

/// A clock that only tests advance.
final class HandSetClock: WallClock {
    private let time = Lock(Timestamp(seconds: 1_800_000_000))

    func now() -> Timestamp { time.withLock { $0 } }
    func advance(by duration: Duration) { time.withLock { $0 = $0.advanced(by: duration) } }
}

/// A client that sends scripted requests in order. It blocks, so it needs its own thread.
final class RawClient {
    let stream: BlockStream
    private var session: ClientSession?
    private var delivered: [(id: [UInt8], body: [UInt8], queue: [UInt8])] = []
    /// The block cipher after the hellos.
    private var blocks: BlockCipher?
    private static let bound = Duration.seconds(60)

    /// Connects with TLS only.
    init(to address: ServerAddress) throws {
        stream = try BlockStream.connect(
            to: Endpoint(host: address.hosts[0], port: address.port),
            tls: TLSClientSettings(
                identityFingerprint: address.fingerprint, applicationProtocols: ["smp/1"]),
            size: TransportBlock.size, timeout: Self.bound, stop: WakeUp(), wakeUp: WakeUp())
    }

    /// Connects with TLS and hellos.
    static func connected(to address: ServerAddress) throws -> RawClient {
        let client = try RawClient(to: address)
        let peer = TLSPeer(
            sessionID: client.stream.channelBinding, certificates: client.stream.peerCertificates,
            fingerprint: address.fingerprint)
        let (keys, hello) = try SessionKeys.agree(block: client.block(), peer: peer, key: .generate())
        try client.stream.send(hello)
        client.session = ClientSession(keys: keys, now: .zero)
        client.blocks = keys.blocks
        return client
    }

    /// Returns the next block.
    func block() throws -> [UInt8] {
        let end = ContinuousClock.now + Self.bound
        while ContinuousClock.now < end {
            try stream.flush()
            if let block = try stream.receive() { return block }
            stream.wait(atMost: .seconds(1))
        }
        throw WaitedInVain("a block")
    }

    /// Returns whether the relay closes, ignoring earlier messages.
    func hearsTheEnd() -> Bool {
        do {
            while true { _ = try block() }
        } catch {
            return error is NetworkError
        }
    }

    /// Sends a request and returns its answer.
    func ask(
        _ command: Command, of entityID: [UInt8] = [], key: CommandKey? = nil,
        correlationID: [UInt8]? = nil
    ) throws -> Answer {
        guard var session else { throw WaitedInVain("a session") }
        defer { self.session = session }
        let request = ClientRequest(command, of: entityID, key: key, correlationID: correlationID)
        let id = try session.submit(request, now: .zero)
        while let block = session.takeBlock() { try stream.send(block) }
        var answer: Answer?
        while answer == nil {
            for event in session.receive(try block(), now: .zero) {
                switch event {
                case .answered(id, let found): answer = found
                case .delivered(let queue, let id, let body): delivered.append((id, body, queue))
                case .failed, .closed: throw WaitedInVain("an answer: \(event)")
                default: break
                }
            }
        }
        return answer ?? .pong
    }

    /// Sends several requests and returns their answers in order. Limited to the relay's number of unanswered commands.
    func ask(_ requests: [ClientRequest]) throws -> [Answer] {
        guard var session else { throw WaitedInVain("a session") }
        defer { self.session = session }
        let ids = try requests.map { try session.submit($0, now: .zero) }
        while let block = session.takeBlock() { try stream.send(block) }
        var answers: [ClientRequest.ID: Answer] = [:]
        while answers.count < ids.count {
            for event in session.receive(try block(), now: .zero) {
                switch event {
                case .answered(let id, let answer): answers[id] = answer
                case .delivered(let queue, let id, let body): delivered.append((id, body, queue))
                case .failed, .closed: throw WaitedInVain("an answer: \(event)")
                default: break
                }
            }
        }
        return ids.compactMap { answers[$0] }
    }

    /// Sends several requests without reading. Returns when the first answer arrived in local buffers.
    func askOnly(_ requests: [ClientRequest]) throws {
        guard var session else { throw WaitedInVain("a session") }
        for request in requests { _ = try session.submit(request, now: .zero) }
        while let block = session.takeBlock() { try stream.send(block) }
        self.session = session
        stream.wait(atMost: Self.bound)
    }

    /// Sends one request as far as local buffers accept it, without reading.
    func offer(_ request: ClientRequest) throws {
        guard var session else { throw WaitedInVain("a session") }
        _ = try session.submit(request, now: .zero)
        while let block = session.takeBlock() { try stream.send(block) }
        self.session = session
    }

    /// Returns the relay's own messages in the next block.
    func told() throws -> [ClientEvent] {
        guard var session else { throw WaitedInVain("a session") }
        defer { self.session = session }
        return session.receive(try block(), now: .zero)
    }

    /// Sends raw bytes as transmissions and returns the answers. Must be the last request.
    func say(_ transmissions: [[UInt8]]) throws -> [Answer] {
        guard var blocks else { throw WaitedInVain("a session") }
        defer { self.blocks = blocks }
        try stream.send(blocks.seal(Batch.encode(transmissions)))
        let answers = Batch.decode(try blocks.open(try block())) ?? []
        return answers.compactMap { bytes in
            Transmission(decoding: bytes, version: 17).flatMap { Answer(decoding: $0.body, version: 17) }
        }
    }

    /// Returns as many answers as there are transmissions, across blocks.
    func answers(to transmissions: [[UInt8]]) throws -> [Answer] {
        var answers = try say(transmissions)
        guard var blocks else { throw WaitedInVain("a session") }
        defer { self.blocks = blocks }
        while answers.count < transmissions.count {
            answers += (Batch.decode(try blocks.open(try block())) ?? []).compactMap { bytes in
                Transmission(decoding: bytes, version: 17).flatMap { Answer(decoding: $0.body, version: 17) }
            }
        }
        return answers
    }

    /// Returns the oldest delivered message that was not taken yet.
    func message() throws -> (id: [UInt8], body: [UInt8], queue: [UInt8]) {
        for _ in 0..<1000 {
            if !delivered.isEmpty { return delivered.removeFirst() }
            _ = try ask(.ping)
        }
        throw WaitedInVain("a message")
    }

    /// Creates a queue with a new key.
    func makeQueue(
        mode: QueueMode? = .messaging, password: String? = nil, subscribes: Bool = true,
        link: Command.NewLink? = nil, correlationID: [UInt8]? = nil
    ) throws -> (answer: Answer, key: SigningKey, boxKey: AgreementKey) {
        let (key, boxKey) = (SigningKey.generate(), AgreementKey.generate())
        let new = Command.NewQueue(
            recipientKey: key.publicKey, boxKey: boxKey.publicKey, password: password.map { Array($0.utf8) },
            subscribes: subscribes, mode: mode, link: link)
        let answer = try ask(.new(new), key: .signing(key), correlationID: correlationID)
        return (answer, key, boxKey)
    }

    /// Creates a queue and fails if the relay refuses.
    func queue(mode: QueueMode? = .messaging) throws -> (ids: Answer.QueueIDs, key: CommandKey) {
        let made = try makeQueue(mode: mode)
        guard case .created(let ids) = made.answer else { throw WaitedInVain("a queue") }
        return (ids, .signing(made.key))
    }
}

extension Command {
    static func text(_ text: String) -> Command { .send(flags: [UInt8(ascii: "T")], body: Array(text.utf8)) }
}

/// Runs blocking work of a test on its own thread.
func blocking<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await ThreadPool.shared.run(body)
}
