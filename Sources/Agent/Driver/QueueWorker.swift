import Base
import Posix
import SMP

/// Performs the pending work of this side's queues on their servers, one step after the other.
struct QueueWorker: Sendable {
    let work: StoreWork
    let servers: any QueueServers
    let times: AgentTimes
    let log: Log
    let follow: @Sendable (StepOutcome) -> Void

    private struct Queue: Sendable {
        let connection: ConnectionID
        let queue: ReceivingQueue
        /// Whether it has been leaving its server for too long.
        let isOverdue: Bool
    }

    func work(_ id: Int64) async -> WorkOutcome {
        let found = await work.attempt("read a queue") { [times] store in
            try store.read { tables -> Queue? in
                guard let connection = try tables.queues.place(ofReceiving: id) else { return nil }
                return try tables.queues.receiving(of: connection).first { $0.id == id }.map { queue in
                    let limit = queue.leavesSince?.advanced(by: times.giveUpQueue)
                    let isOverdue = limit.map { $0 < tables.now } ?? false
                    return Queue(connection: connection, queue: queue, isOverdue: isOverdue)
                }
            }
        }
        guard let found else { return .retry(times.store) }
        guard let queue = found else { return .idle }
        do {
            return try await work(queue)
        } catch {
            log.warning("queue keys unusable: queue=\(id) error=\(sentenceWithCauses(of: error))")
            return .idle
        }
    }

    private func work(_ queue: Queue) async throws -> WorkOutcome {
        switch queue.queue.status {
        case .creating: return try await create(queue)
        case .active:
            guard let key = queue.queue.keyToSecure else { return .idle }
            return try await secure(queue, key)
        case .suspending: return try await suspend(queue)
        case .draining: return try await drain(queue)
        case .deleting: return try await delete(queue)
        }
    }

    // MARK: - Steps

    private func create(_ queue: Queue) async throws -> WorkOutcome {
        let request = ClientRequest(
            try queue.queue.creation(), key: .signing(try queue.queue.authorization), timeout: times.answer)
        // If the reply is lost, the server keeps an unused queue.
        switch await answer(request, of: queue) {
        case .done(.created(let ids)):
            return await step(queue) { $0.created(ids, at: $1) }
        case .done, .failed: return .retry(times.network)
        case .gone, .refused: return await step(queue) { $0.cannotCreate($1) }
        }
    }

    private func secure(_ queue: Queue, _ key: [UInt8]) async throws -> WorkOutcome {
        switch try await ask(.secure(senderKey: key), about: queue) {
        case .done: return await step(queue) { $0.securedReplacement($1) }
        case .failed: return .retry(times.network)
        case .gone, .refused: return await step(queue) { $0.cannotCreate($1) }
        }
    }

    private func suspend(_ queue: Queue) async throws -> WorkOutcome {
        switch try await ask(.suspend, about: queue) {
        case .done: return await step(queue) { $0.state.receiving[$1].status = .draining }
        case .gone, .refused: return await step(queue) { $0.state.receiving[$1].status = .deleting }
        case .failed: return await tryAgain(queue)
        }
    }

    private func drain(_ queue: Queue) async throws -> WorkOutcome {
        switch try await ask(.queueInformation, about: queue) {
        case .done(.information(let json)):
            // Remaining messages arrive through the subscription.
            guard Self.isEmpty(json) || queue.isOverdue else { return .retry(times.emptying) }
            return await step(queue) { $0.state.receiving[$1].status = .deleting }
        case .done, .gone, .refused: return await step(queue) { $0.state.receiving[$1].status = .deleting }
        case .failed: return await tryAgain(queue)
        }
    }

    /// Returns whether the `INFO` reply `{"qiSnd":true,…,"qiSize":0,…}` reports an empty queue. Other sizes
    /// start with another digit.
    static func isEmpty(_ json: [UInt8]) -> Bool {
        let bytes = json.filter { $0 > UInt8(ascii: " ") }
        return bytes.firstRange(of: Array("\"qiSize\":0".utf8)) != nil
    }

    private func delete(_ queue: Queue) async throws -> WorkOutcome {
        if !queue.queue.recipientID.isEmpty {
            if case .failed = try await ask(.delete, about: queue) { return await tryAgain(queue) }
        }
        return await remove(queue)
    }

    /// Asks a leaving queue's server later, or forgets the queue.
    private func tryAgain(_ queue: Queue) async -> WorkOutcome {
        queue.isOverdue ? await remove(queue) : .retry(times.network)
    }

    private func remove(_ queue: Queue) async -> WorkOutcome {
        let outcome = await step(queue) { machine, place in _ = machine.state.receiving.remove(at: place) }
        if case .more = outcome { return .idle }
        return outcome
    }

    // MARK: - Asking

    private func step(
        _ queue: Queue, _ body: @escaping @Sendable (inout ConnectionMachine, Int) throws -> Void
    ) async -> WorkOutcome {
        let outcome = await work.attempt("store queue state") { store in
            try store.change { tables in
                try tables.step(queue.connection) { machine in
                    let place = machine.state.receiving.firstIndex { $0.id == queue.queue.id }
                    if let place { try machine.changing { try body(&$0, place) } }
                }
                let state = try tables.connections.load(queue.connection)
                if state.phase == .deleting, state.receiving.isEmpty {
                    try tables.removeConnection(queue.connection)
                }
            }.1
        }
        guard let outcome else { return .retry(times.store) }
        follow(outcome)
        return .more
    }

    private enum Outcome: Sendable {
        case done(Answer)
        case gone
        case refused
        case failed
    }

    private func ask(_ command: Command, about queue: Queue) async throws -> Outcome {
        await answer(
            ClientRequest(
                command, of: queue.queue.recipientID, key: .signing(try queue.queue.authorization),
                timeout: times.answer), of: queue)
    }

    private func answer(_ request: ClientRequest, of queue: Queue) async -> Outcome {
        do throws(SMPError) {
            switch try await servers.ask(request, of: queue.queue.server) {
            case .error(.authorization): return .gone
            case .error(let error): return error.isTemporary ? .failed : .refused
            case let answer: return .done(answer)
            }
        } catch {
            return .failed
        }
    }
}
