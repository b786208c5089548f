import Base
import Glibc
import Posix
import SMP
import Store

/// What all connections share: one thread that carries out commands in the order in which they came, as many as there
/// are in one transaction, and says nothing before that is on disk.
final class QueueService: Sendable {
    enum Job: Sendable {
        case command(ServerSession.Received, Client, SessionAuthority)
        /// The client has taken what it was told, and has capacity for what was put off.
        case ready(Client)
        case gone(Client)
    }

    private struct State {
        var jobs: [Job] = []
        var isStopping = false
        var hasEnded = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let database: Database
    private let settings: MessageRelaySettings
    private let waysOut: WaysOut?
    private let wakeUp: WakeUp
    private let state = Lock(State())

    /// Jobs that share a transaction: many, because each ends with a wait for the disk, but not so many that the
    /// first of them waits for long.
    private static let jobsAtOnce = 256
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
            let service = try QueueService(database, settings)
            let processor = CommandProcessor(settings: settings, used: used)
            try Thread.begin("smp-store") { service.run(processor) }
            return service
        } catch let error as SystemError {
            throw MessageRelayError(.folder, error.sentence, cause: error)
        } catch {
            throw MessageRelayError(.records, sentence(of: error), cause: error)
        }
    }

    private init(_ database: Database, _ settings: MessageRelaySettings) throws(SystemError) {
        self.database = database
        self.settings = settings
        waysOut = WaysOut(settings)
        wakeUp = try WakeUp()
    }

    /// Never blocks. What goes to other servers waits for nothing here, and nothing for that.
    func submit(_ jobs: [Job]) {
        let own = jobs.filter { !handOn($0) }
        guard !own.isEmpty else { return }
        state.withLock { $0.jobs += own }
        wakeUp.notify()
    }

    private func handOn(_ job: Job) -> Bool {
        guard let waysOut else { return false }
        if case .gone(let client) = job { waysOut.release(client.number) }
        guard case .command(let received, let client, _) = job, case .success(let command) = received.command,
            WaysOut.isAbout(command)
        else { return false }
        waysOut.perform(command, received.transmission, of: client.number) { answer in
            client.tell(
                Client.Message(
                    correlationID: received.transmission.correlationID,
                    entityID: received.transmission.entityID, content: .answer(answer), isAnswer: true))
            client.wake()
        }
        return true
    }

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
            let (jobs, isStopping) = state.withLock { state in
                let count = min(state.jobs.count, Self.jobsAtOnce)
                defer { state.jobs.removeFirst(count) }
                return (Array(state.jobs.prefix(count)), state.isStopping)
            }
            if !jobs.isEmpty {
                perform(jobs, &processor)
            } else if isStopping {
                break
            } else if !isSweeping {
                var requests = [pollfd(fd: wakeUp.descriptor, events: Int16(POLLIN), revents: 0)]
                let left = ContinuousClock.now.duration(to: sweep).components.seconds
                poll(&requests, milliseconds: Int32(clamping: (max(0, left) + 1) * 1000))
                wakeUp.clear()
            }
        }
        database.close()
        let waiting = state.withLock { state in
            state.hasEnded = true
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    /// All in one transaction. Where that fails each has one of its own, so that it fails alone.
    private func perform(_ jobs: [Job], _ processor: inout CommandProcessor) {
        do {
            try commit(&processor) { processor, records in
                for job in jobs { try Self.perform(job, &processor, records) }
            }
        } catch {
            guard jobs.count == 1 else {
                for job in jobs { perform([job], &processor) }
                return
            }
            Log("relay").error("A request for a queue failed. \(sentence(of: error))")
            fail(jobs[0])
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
        case .command(let received, let client, let authority):
            try processor.perform(received, of: client, authority, records)
        case .ready(let client): try processor.resume(client, records)
        case .gone(let client): processor.remove(client)
        }
    }

    /// What the client did not cause is told to the operator, and to it that it may try again. Messages that were put
    /// off are fetched when it next says or hears something, not at once: what failed may fail for long.
    private func fail(_ job: Job) {
        switch job {
        case .command(let received, let client, _):
            client.tell(
                Client.Message(
                    correlationID: received.transmission.correlationID,
                    entityID: received.transmission.entityID, content: .answer(.error(.internalError)),
                    isAnswer: true))
            client.wake()
        case .ready(let client): client.remainsStarved()
        case .gone: break
        }
    }

    /// False when there are no more, or they cannot be deleted now.
    private func expireSome(_ processor: inout CommandProcessor) -> Bool {
        do {
            return try commit(&processor) { processor, records in try processor.expire(records) }
        } catch {
            Log("relay").error("Old messages could not be deleted. \(sentence(of: error))")
            return false
        }
    }
}
