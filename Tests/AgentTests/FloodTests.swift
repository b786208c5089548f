import Base
import SMP
import TestSupport
import Testing

@testable import Agent

/// A server that delivers without waiting for acknowledgements.
private final class FloodingServers: QueueServers {
    private let server: ServerAddress
    private let queues: [[UInt8]]
    private let state = Lock((delivered: 0, most: 0))
    /// Number of events buffered for the reader.
    private let waiting: @Sendable () -> Int
    static let rounds = 5

    init(_ server: ServerAddress, queues: Int, waiting: @escaping @Sendable () -> Int) {
        self.server = server
        self.waiting = waiting
        self.queues = (0..<queues).map { _ in SystemRandomSource().bytes(24) }
    }

    var delivered: Int { state.withLock { $0.delivered } }
    /// Highest number of buffered events.
    var most: Int { state.withLock { $0.most } }
    var isOver: Bool { delivered == Self.rounds * queues.count }

    func ask(_ request: ClientRequest, of server: ServerAddress) async throws(SMPError) -> Answer { .ok }

    func ask(_ requests: [ClientRequest], of server: ServerAddress) async -> [Result<Answer, SMPError>] {
        requests.map { _ in .success(.ok) }
    }

    var events: AsyncStream<QueueServerEvent> {
        AsyncStream { [self] in
            let waits = waiting()
            let number = state.withLock { state in
                state.most = max(state.most, waits)
                defer { state.delivered = min(state.delivered + 1, Self.rounds * queues.count) }
                return state.delivered
            }
            guard number < Self.rounds * queues.count else { return nil }
            // Several messages per queue without `ACK`, which violates the protocol.
            return .delivered(
                server, recipientID: queues[number / Self.rounds], messageID: SystemRandomSource().bytes(24),
                body: [UInt8](repeating: 7, count: 16 << 10))
        }
    }
}

@Suite(.timeLimit(.minutes(10))) struct FloodTests {
    @Test func floodOfDeliveriesUsesBoundedMemory() async throws {
        let folder = try TemporaryFolder()
        let agent = Lock<Agent?>(nil)
        let servers = FloodingServers(try Known.server(), queues: 10_000) {
            agent.withLock { $0 }?.waitingMessages ?? 0
        }
        let made = try Agent(
            path: folder.path("connections.db"), key: nil, servers: servers,
            settings: AgentSettings(servers: [Known.server()], times: Known.times))
        agent.withLock { $0 = made }
        try await made.start()
        try await wait(until: "all was delivered", within: .seconds(240)) { servers.isOver }
        // A MiB of bodies, and the one just processed.
        #expect(servers.most <= 65)
        try await wait(until: "nothing is left", within: .seconds(60)) { made.waitingMessages == 0 }
        await made.stop()
    }
}
