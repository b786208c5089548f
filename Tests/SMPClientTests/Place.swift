import Base
import Cryptography
import Network
import SMP
import SMPRelay
import TestSupport
import Testing

@testable import SMPClient

/// A relay on loopback with its own folder, which can be stopped and restarted.
final class Place: Sendable {
    let folder: TemporaryFolder
    let identity: ServerIdentity
    private let running: Lock<MessageRelay>
    private let change: @Sendable (inout MessageRelaySettings) -> Void

    init(_ change: @escaping @Sendable (inout MessageRelaySettings) -> Void = { _ in }) throws {
        folder = try TemporaryFolder()
        identity = try NewServerIdentity.make(.ed25519, hostName: "localhost").identity
        self.change = change
        running = Lock(try Self.start(folder, identity, change))
    }

    private static func start(
        _ folder: TemporaryFolder, _ identity: ServerIdentity,
        _ change: (inout MessageRelaySettings) -> Void
    ) throws -> MessageRelay {
        var settings = MessageRelaySettings(folder: folder.path("relay"), identity: identity)
        change(&settings)
        return try MessageRelay.start(settings)
    }

    var relay: MessageRelay { running.withLock { $0 } }
    var server: ServerAddress { relay.address }

    /// Restarts on the same port.
    func restart() async throws {
        await relay.stop()
        let next = try Self.start(folder, identity, change)
        // Releases the last reference outside the mutex, because the relay has its own mutexes.
        let last = running.withLock { relay in
            defer { relay = next }
            return relay
        }
        withExtendedLifetime(last) {}
    }
}

/// A recipient or sender with connections.
final class Person: Sendable {
    let connections: QueueConnections
    private let listener: Lock<Task<Void, Never>?>
    private let heard = Lock<[QueueServerEvent]>([], rank: .collection)

    init(_ settings: ConnectionSettings = .forTests) {
        connections = QueueConnections(settings)
        listener = Lock(nil, rank: .collection)
        let events = connections.events
        let task = Task { [heard] in
            for await event in events { heard.withLock { $0.append(event) } }
        }
        listener.withLock { $0 = task }
    }

    deinit { listener.withLock { $0?.cancel() } }

    /// The received events.
    var events: [QueueServerEvent] { heard.withLock { $0 } }

    /// Returns and removes the next matching event.
    func event(_ what: String, _ fits: @Sendable (QueueServerEvent) -> Bool) async throws -> QueueServerEvent
    {
        try await wait(for: what) {
            heard.withLock { heard in heard.firstIndex(where: fits).map { heard.remove(at: $0) } }
        }
    }

    /// Returns the next decrypted message of a queue.
    func message(of queue: Queue) async throws -> (id: [UInt8], body: DeliveredBody) {
        let event = try await event("a message") { event in
            if case .delivered(_, queue.ids.recipientID, _, _) = event { return true }
            return false
        }
        guard case .delivered(_, _, let id, let body) = event else { throw WaitedInVain("a message") }
        let secret = try queue.boxKey.wipedSecret(with: queue.ids.boxKey)
        return (id, try DeliveredBody(opening: body, messageID: id, secret: secret))
    }

    @discardableResult
    func ask(
        _ command: Command, of entityID: [UInt8] = [], key: SigningKey? = nil, _ server: ServerAddress
    ) async throws -> Answer {
        try await connections.ask(
            ClientRequest(command, of: entityID, key: key.map { .signing($0) }, timeout: .seconds(60)),
            of: server)
    }

    /// A queue with a subscription.
    func makeQueue(
        _ server: ServerAddress, mode: QueueMode? = .messaging, subscribes: Bool = true
    ) async throws -> Queue {
        let (key, boxKey) = (SigningKey.generate(), AgreementKey.generate())
        let new = Command.NewQueue(
            recipientKey: key.publicKey, boxKey: boxKey.publicKey, subscribes: subscribes, mode: mode)
        let answer = try await ask(.new(new), key: key, server)
        guard case .created(let ids) = answer else { throw WaitedInVain("a queue, not \(answer)") }
        return Queue(ids: ids, key: key, boxKey: boxKey)
    }
}

/// A queue as its recipient knows it.
struct Queue: Sendable {
    let ids: Answer.QueueIDs
    let key: SigningKey
    let boxKey: AgreementKey

    var subscription: ClientRequest {
        ClientRequest(.subscribe, of: ids.recipientID, key: .signing(key), timeout: .seconds(60))
    }
}

extension ConnectionSettings {
    /// Long limits for tests that share two cores, and short retry delays.
    static let forTests = ConnectionSettings(
        policy: .everything, connectTimeout: .seconds(60),
        retry: RetryPolicy(first: .milliseconds(50), maxDelay: .milliseconds(400), tries: .max))
}

extension Command {
    static func text(_ text: String) -> Command { .send(flags: [UInt8(ascii: "T")], body: Array(text.utf8)) }
}

extension DeliveredBody {
    var text: String? {
        guard case .message(_, _, let body) = self else { return nil }
        return String(decoding: body, as: UTF8.self)
    }
}

func expect(
    _ code: SMPErrorCode, sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () async throws -> some Sendable
) async {
    do {
        let result = try await body()
        Issue.record("expected \(code), got \(result)", sourceLocation: sourceLocation)
    } catch {
        #expect((error as? SMPError)?.code == code, sourceLocation: sourceLocation)
    }
}
