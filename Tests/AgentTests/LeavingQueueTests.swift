import Base
import Posix
import SMP
import Store
import TestSupport
import Testing

@testable import Agent

/// A server that is gone for good, or one that never empties a queue.
private struct StuckServer: QueueServers {
    let isGone: Bool

    func ask(_ request: ClientRequest, of server: ServerAddress) async throws(SMPError) -> Answer {
        if isGone { throw SMPError(.unreachable, "The server cannot be reached.") }
        if case .queueInformation = request.command { return .information(Array(#"{"qiSize":1}"#.utf8)) }
        return .ok
    }

    func ask(_ requests: [ClientRequest], of server: ServerAddress) async -> [Result<Answer, SMPError>] { [] }

    var events: AsyncStream<QueueServerEvent> { AsyncStream(unfolding: { nil }) }
}

@Suite("Queues that leave their servers")
struct LeavingQueueTests {
    private let folder: TemporaryFolder
    private let clock = ManualClock()
    private let store: AgentStore

    init() throws {
        folder = try TemporaryFolder()
        store = try AgentStore(
            path: folder.path("connections.db"), key: nil, tools: MachineSide.tools(seed: 1), clock: clock)
    }

    private func worker(_ server: StuckServer) -> QueueWorker {
        QueueWorker(
            work: StoreWork(store: store, pool: .shared, log: Log("agent")), servers: server,
            times: Known.times, log: Log("agent"), follow: { _ in })
    }

    /// A deleted connection with one queue.
    private func connection(_ status: ReceivingQueue.Status) throws -> (id: ConnectionID, queue: Int64) {
        var queue = ReceivingQueue.fresh(
            server: try Known.server(), mode: .messaging, random: SeededBytes(2))
        (queue.status, queue.recipientID) = (.active, [UInt8](repeating: 3, count: 24))
        let state = ConnectionState(phase: .deleting, information: [], receiving: [queue])
        let id = try store.change { try $0.insert(state) }.0
        _ = try store.change { tables in
            try tables.step(id) { $0.state.receiving[0].status = status }
        }
        let stored = try store.read { try $0.connections.load(id).receiving }
        #expect(stored[0].leavesSince != nil)
        return (id, stored[0].id)
    }

    private func exists(_ id: ConnectionID) throws -> Bool {
        try store.read { try $0.connections.exists(id) }
    }

    @Test(
        "a queue is forgotten when its server stays away",
        arguments: [ReceivingQueue.Status.suspending, .draining, .deleting])
    func goneServer(status: ReceivingQueue.Status) async throws {
        let (id, queue) = try connection(status)
        let worker = worker(StuckServer(isGone: true))
        clock.advance(by: Known.times.giveUpQueue - .seconds(60))
        guard case .retry = await worker.work(queue) else { throw WaitedInVain("another try") }
        #expect(try exists(id))
        clock.advance(by: .seconds(120))
        guard case .idle = await worker.work(queue) else { throw WaitedInVain("the end") }
        #expect(try !exists(id), "the deletion of the connection ends too")
        store.close()
    }

    @Test("a queue that is never empty is deleted at last")
    func fullQueue() async throws {
        let (id, queue) = try connection(.draining)
        let worker = worker(StuckServer(isGone: false))
        guard case .retry = await worker.work(queue) else { throw WaitedInVain("another try") }
        clock.advance(by: Known.times.giveUpQueue + .seconds(60))
        guard case .more = await worker.work(queue) else { throw WaitedInVain("the next step") }
        #expect(try store.read { try $0.connections.load(id).receiving.map(\.status) } == [.deleting])
        guard case .idle = await worker.work(queue) else { throw WaitedInVain("the end") }
        #expect(try !exists(id))
        store.close()
    }

    @Test("an update gives leaving queues their time")
    func update() throws {
        let (id, _) = try connection(.deleting)
        store.close()
        let path = folder.path("connections.db")
        let old = try Database(path: path, migrations: AgentSchema.migrations)
        try old.transaction { connection in
            try connection.executeScript(
                """
                ALTER TABLE receiving_queue DROP COLUMN leaves_since;
                DELETE FROM schema_version WHERE name = 'leaving queues';
                UPDATE elapsed_time SET time = 7000000000;
                """)
        }
        old.close()
        let new = try Database(path: path, migrations: AgentSchema.migrations)
        let queues = try new.read { try ConnectionTable($0).load(id).receiving }
        #expect(queues.map(\.leavesSince) == [ElapsedTime(seconds: 7)])
    }
}
