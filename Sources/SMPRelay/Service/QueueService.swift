import Base
import Glibc
import Network
import Posix
import SMP
import Store

/// Performs the requests of all connections on one thread, in turns of addresses and connections. Many requests share a
/// transaction, and replies are sent after its commit. Requests of one connection keep their order.
final class QueueService: Sendable {
    enum Job: Sendable {
        case command(Request, Client)
        /// The client sent its messages and has capacity for postponed deliveries.
        case ready(Client)
        case gone(Client)

        var client: Client {
            switch self {
            case .command(_, let client), .ready(let client), .gone(let client): client
            }
        }
    }

    /// Work of the operator in its own transaction.
    private struct Order: Sendable {
        let perform: @Sendable (inout CommandProcessor, QueueRecords) throws -> Void
        let ended: @Sendable ((any Error)?) -> Void
    }

    private struct State {
        var jobs = TurnQueue<PeerAddress, UInt64, Job>()
        /// The operator's work, which precedes clients' requests.
        var orders: [Order] = []
        var isStopping = false
        var hasEnded = false
    }

    private let database: Database
    private let settings: MessageRelaySettings
    /// The read connection of connection threads, which must not wait for transactions.
    private let reader: Database
    private let waysOut: WaysOut?
    /// Limits the working connection threads to the number of processors, so that this service's thread is not one of
    /// hundreds.
    let turns: FairSemaphore<PeerAddress>
    /// The memory of all clients.
    let budget: Budget
    private let wakeUp: WakeUp
    private let state = Lock(State())
    private let ended = OneTimeEvent()

    /// The maximum number of jobs in a transaction. Each transaction waits for the disk, so many jobs share it, but the
    /// first must not wait too long.
    private static let jobsAtOnce = 256
    /// The maximum time of a transaction.
    private static let timeAtOnce = Duration.milliseconds(10)
    /// The interval between searches for expired messages.
    private static let sweepInterval = Duration.seconds(600)

    /// Opens the records and starts the thread. Blocks.
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
        budget = Budget(limit: UInt64(settings.limits.memory))
        self.settings = settings
        waysOut = WaysOut(settings)
        wakeUp = try WakeUp()
    }

    /// Adds jobs without blocking. Requests for other servers run separately.
    func submit(_ jobs: [Job]) {
        let own = jobs.filter { !handOn($0) }
        guard !own.isEmpty else { return }
        state.withLock { state in
            for job in own { state.jobs.append(job, of: job.client.number, in: job.client.peer) }
        }
        wakeUp.notify()
    }

    /// Whether requests are forwarded to other servers.
    var handsOn: Bool { waysOut != nil }

    /// Reads the records concurrently with writes. Blocks on the disk.
    /// - Throws: The errors of the database and of `body`.
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

    /// Runs `body` in its own transaction, before clients' requests.
    /// - Throws: The errors of the database and of `body`; `MessageRelayError` `.inUse` after the relay stopped.
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

    /// Ends the thread after all submitted jobs and closes the database.
    func stop() async {
        await waysOut?.close()
        state.withLock { $0.isStopping = true }
        wakeUp.notify()
        await ended.wait()
    }

    // MARK: The thread

    private func run(_ processor: consuming CommandProcessor) {
        var sweep = ContinuousClock.now
        while true {
            // Expire in batches, with clients' requests in between.
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
        let late = state.withLock { state in
            state.hasEnded = true
            return state.orders
        }
        for order in late { order.ended(Self.hasStopped) }
        ended.happen()
    }

    /// Performs as many jobs as one transaction may have. If it fails, each job runs in its own transaction, so that
    /// only the faulty one fails.
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

    /// Logs an error that the client did not cause, and answers INTERNAL. Postponed messages wait for the client's next
    /// activity instead of an immediate retry, because the error may persist.
    private func fail(_ job: Job, _ error: any Error) {
        Log("relay").error("request failed: error=\(sentence(of: error))")
        switch job {
        case .command(let request, let client):
            client.tell(Client.Message(.error(.internalError), to: request))
            client.wake()
        case .ready(let client): client.remainsStarved()
        case .gone(let client): client.leave()
        }
    }

    /// Returns false if nothing more expires or deletion fails.
    private func expireSome(_ processor: inout CommandProcessor) -> Bool {
        do {
            return try commit(&processor) { processor, records in try processor.expire(records) }
        } catch {
            Log("relay").error("expired messages and queues not deleted: error=\(sentence(of: error))")
            return false
        }
    }
}
