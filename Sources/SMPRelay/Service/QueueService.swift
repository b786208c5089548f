import Base
import Glibc
import Network
import Posix
import SMP
import Store

/// What all connections share: one thread that carries out requests in turns of addresses and of their connections, as many as
/// there are in one transaction, and says nothing before that is on disk. Those of one connection keep their order.
final class QueueService: Sendable {
    enum Job: Sendable {
        case command(Request, Client)
        /// The client has taken what it was told, and has capacity for what was put off.
        case ready(Client)
        case gone(Client)

        var client: Client {
            switch self {
            case .command(_, let client), .ready(let client), .gone(let client): client
            }
        }
    }

    /// Something that is done in one transaction.
    private struct Order: Sendable {
        let perform: @Sendable (inout CommandProcessor, QueueRecords) throws -> Void
        let ended: @Sendable ((any Error)?) -> Void
    }

    private struct State {
        var jobs = TurnQueue<PeerAddress, UInt64, Job>()
        /// What the operator asks, before all that clients do.
        var orders: [Order] = []
        var isStopping = false
        var hasEnded = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let database: Database
    private let settings: MessageRelaySettings
    /// For connections, which must not wait for the transactions of the other.
    private let reader: Database
    private let waysOut: WaysOut?
    /// Threads of connections that do something at once: as many as there are processors, or this service's own would be one
    /// of hundreds.
    let turns: FairSemaphore<PeerAddress>
    /// Memory of all clients.
    let budget: ByteBudget
    private let wakeUp: WakeUp
    private let state = Lock(State())

    /// Jobs that share a transaction: many, because each ends with a wait for the disk, but not so many that the
    /// first of them waits for long.
    private static let jobsAtOnce = 256
    /// The same in time, for those that cost much.
    private static let timeAtOnce = Duration.milliseconds(10)
    /// Between two looks for messages that are too old.
    private static let sweepInterval = Duration.seconds(600)

    /// Opens the records and begins. Blocks.
    static func start(
        path: String, settings: MessageRelaySettings
    ) throws(MessageRelayError) -> QueueService {
        do {
            let database = try Database(
                path: path, migrations: QueueRecords.migrations, key: settings.key)
            let used = try database.read { try QueueRecords(connection: $0).usedBytes() }
            let reader = try Database(path: path, migrations: QueueRecords.migrations, key: settings.key)
            let service = try QueueService(database, reader, settings)
            let processor = CommandProcessor(settings: settings, used: used)
            try Thread.begin("smp-store") { service.run(processor) }
            return service
        } catch let error as SystemError {
            throw MessageRelayError(.folder, error.sentence, cause: error)
        } catch {
            throw MessageRelayError(.records, sentence(of: error), cause: error)
        }
    }

    private init(
        _ database: Database, _ reader: Database, _ settings: MessageRelaySettings
    ) throws(SystemError) {
        self.database = database
        self.reader = reader
        turns = FairSemaphore(count: max(2, sysconf(Int32(_SC_NPROCESSORS_ONLN))))
        budget = ByteBudget(limit: settings.limits.memory)
        self.settings = settings
        waysOut = WaysOut(settings)
        wakeUp = try WakeUp()
    }

    /// Never blocks. What goes to other servers waits for nothing here, and nothing for that.
    func submit(_ jobs: [Job]) {
        let own = jobs.filter { !handOn($0) }
        guard !own.isEmpty else { return }
        state.withLock { state in
            for job in own { state.jobs.append(job, of: job.client.number, in: job.client.peer) }
        }
        wakeUp.notify()
    }

    /// Whether requests go on to other servers.
    var handsOn: Bool { waysOut != nil }

    /// Looks into the records, beside whatever is written to them. Blocks for the disk.
    /// - Throws: what the database throws, and `body`.
    func look<Result>(_ body: (QueueRecords) throws -> Result) throws -> Result {
        try reader.read { try body(QueueRecords(connection: $0)) }
    }

    private func handOn(_ job: Job) -> Bool {
        guard let waysOut else { return false }
        if case .gone(let client) = job { waysOut.release(client.number) }
        guard case .command(let request, let client) = job, WaysOut.isAbout(request.command) else {
            return false
        }
        waysOut.perform(request, of: client.number, at: client.peer) { answer in
            client.tell(Client.Message(answer, to: request))
            client.wake()
        }
        return true
    }

    /// Does something in a transaction of its own, before what clients ask.
    /// - Throws: what the database throws, and `body`; `MessageRelayError` `.inUse` when the relay has stopped.
    func order<Result: Sendable>(
        _ body: @escaping @Sendable (inout CommandProcessor, QueueRecords) throws -> Result
    ) async throws -> Result {
        let result = Lock<Result?>(nil)
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            let order = Order {
                let found = try body(&$0, $1)
                result.withLock { $0 = found }
            } ended: { error in
                if let error { continuation.resume(throwing: error) } else { continuation.resume() }
            }
            let isLate = state.withLock { state in
                if !state.hasEnded { state.orders.append(order) }
                return state.hasEnded
            }
            if isLate { order.ended(Self.hasStopped) }
            wakeUp.notify()
        }
        guard let found = result.withLock({ $0 }) else { throw Self.hasStopped }
        return found
    }

    private static let hasStopped = MessageRelayError(.inUse, "The message relay has stopped.")

    /// Ends the thread after what was submitted, and closes the database.
    func stop() async {
        await waysOut?.close()
        state.withLock { $0.isStopping = true }
        wakeUp.notify()
        await withCheckedContinuation { continuation in
            let hasEnded = state.withLock { state in
                if !state.hasEnded { state.waiting.append(continuation) }
                return state.hasEnded
            }
            if hasEnded { continuation.resume() }
        }
    }

    // MARK: The thread

    private func run(_ processor: consuming CommandProcessor) {
        var sweep = ContinuousClock.now
        while true {
            // Some at a time, and what clients ask in between: nobody waits until all are gone.
            var isSweeping = false
            if ContinuousClock.now >= sweep {
                isSweeping = expireSome(&processor)
                if !isSweeping { sweep = .now + Self.sweepInterval }
            }
            let (orders, hasJobs, isStopping) = state.withLock { state in
                defer { state.orders = [] }
                return (state.orders, !state.jobs.isEmpty, state.isStopping)
            }
            for order in orders {
                do {
                    try commit(&processor, order.perform)
                    order.ended(nil)
                } catch {
                    order.ended(error)
                }
            }
            if hasJobs {
                performSome(&processor)
            } else if isStopping {
                break
            } else if !isSweeping {
                var requests = [pollfd(fd: wakeUp.descriptor, events: Int16(POLLIN), revents: 0)]
                let left = ContinuousClock.now.duration(to: sweep).components.seconds
                poll(&requests, milliseconds: Int32(clamping: (max(0, left) + 1) * 1000))
                wakeUp.clear()
            }
        }
        reader.close()
        database.close()
        let (waiting, late) = state.withLock { state in
            state.hasEnded = true
            return (state.waiting, state.orders)
        }
        for order in late { order.ended(Self.hasStopped) }
        for continuation in waiting { continuation.resume() }
    }

    /// As many as may be in one transaction. Where that fails each has one of its own, so that it fails alone.
    private func performSome(_ processor: inout CommandProcessor) {
        var jobs: [Job] = []
        let end = ContinuousClock.now + Self.timeAtOnce
        do {
            try commit(&processor) { processor, records in
                while jobs.count < Self.jobsAtOnce, let job = state.withLock({ $0.jobs.next() }) {
                    jobs.append(job)
                    try Self.perform(job, &processor, records)
                    if ContinuousClock.now >= end { break }
                }
            }
            for case .gone(let client) in jobs { client.leave() }
        } catch  where jobs.count == 1 {
            fail(jobs[0], error)
        } catch {
            for job in jobs { performAlone(job, &processor) }
        }
    }

    private func performAlone(_ job: Job, _ processor: inout CommandProcessor) {
        do {
            try commit(&processor) { processor, records in try Self.perform(job, &processor, records) }
            if case .gone(let client) = job { client.leave() }
        } catch {
            fail(job, error)
        }
    }

    private func commit<Result>(
        _ processor: inout CommandProcessor,
        _ body: (inout CommandProcessor, QueueRecords) throws -> Result
    ) throws -> Result {
        let result: Result
        do {
            result = try database.transaction { connection in
                try body(&processor, QueueRecords(connection: connection))
            }
        } catch {
            processor.rollBack()
            throw error
        }
        let told = processor.commit()
        for entry in told { entry.client.tell(entry.message) }
        var woken: Set<UInt64> = []
        for entry in told where woken.insert(entry.client.number).inserted { entry.client.wake() }
        return result
    }

    private static func perform(
        _ job: Job, _ processor: inout CommandProcessor, _ records: QueueRecords
    ) throws {
        switch job {
        case .command(let request, let client): try processor.perform(request, of: client, records)
        case .ready(let client): try processor.resume(client, records)
        case .gone(let client): processor.remove(client)
        }
    }

    /// What the client did not cause is told to the operator, and to it that it may try again. Messages that were put
    /// off are fetched when it next says or hears something, not at once: what failed may fail for long.
    private func fail(_ job: Job, _ error: any Error) {
        Log("relay").error("A request for a queue failed. \(sentence(of: error))")
        switch job {
        case .command(let request, let client):
            client.tell(Client.Message(.error(.internalError), to: request))
            client.wake()
        case .ready(let client): client.remainsStarved()
        case .gone(let client): client.leave()
        }
    }

    /// False when there are no more, or they cannot be deleted now.
    private func expireSome(_ processor: inout CommandProcessor) -> Bool {
        do {
            return try commit(&processor) { processor, records in try processor.expire(records) }
        } catch {
            Log("relay").error("Old messages and queues could not be deleted. \(sentence(of: error))")
            return false
        }
    }
}
