import Base
import Posix

/// One chunk from one of its relays. They are asked one after another: the next one when the one before has failed,
/// and also when that has sent nothing at all for a while. Then the first byte decides which of the two goes
/// on; the other is given up, so that nothing is fetched twice for long. None is asked twice.
struct ReplicaRace {
    typealias Replica = FileDescription.Replica

    private struct Attempt {
        let replica: Replica
        let buffer: ChunkBuffer
        let health: RelayHealth
        let start: ContinuousClock.Instant
        let task: Task<Void, Never>
    }

    private enum Event: Sendable {
        /// Time to see who is silent.
        case look
        /// The first byte since more than one was asked.
        case byte(Int)
        case ended(Int, XFTPError?)
    }

    private let client: XFTPClient
    private let chunk: FileDescription.Chunk
    /// Where the caller wants the chunk. Only one attempt at a time has it, any other one has its own.
    private let buffer: ChunkBuffer
    private let counter: ByteCounter
    private let timeout: Duration

    private var waiting: ArraySlice<Replica>
    private var attempts: [Int: Attempt] = [:]
    private var asked = 0
    /// Whether more than one is asked and no byte has decided yet.
    private let isUndecided = Lock(false)
    private let events: AsyncStream<Event>
    private let mailbox: AsyncStream<Event>.Continuation

    /// Those that refused for good.
    private(set) var refused: [Replica] = []
    private var failure: XFTPError?

    /// - Parameter replicas: in the order in which they are asked.
    init(
        _ chunk: FileDescription.Chunk, replicas: [Replica], into buffer: ChunkBuffer, client: XFTPClient,
        counter: @escaping ByteCounter
    ) {
        self.chunk = chunk
        self.client = client
        self.buffer = buffer
        self.counter = counter
        timeout = client.settings.replicaTimeout
        waiting = replicas[...]
        (events, mailbox) = AsyncStream.makeStream()
    }

    /// Returns when the chunk is in the buffer. Throws what can still get better, if anything can.
    mutating func run() async throws(XFTPError) {
        guard askNext() else { throw XFTPError(.damaged, "Chunk \(chunk.number) lies on no relay.") }
        var winner: ChunkBuffer?
        loop: for await event in events {
            switch event {
            case .look: look()
            case .byte(let number): giveUpAll(but: number)
            case .ended(let number, let error):
                guard let attempt = attempts.removeValue(forKey: number) else { continue }
                if let error { note(error, attempt) } else { winner = attempt.buffer }
                if winner != nil || attempts.isEmpty && !askNext() { break loop }
            }
        }
        // Nobody may write to a buffer when this returns, whether it went well or the task was cancelled.
        for attempt in attempts.values { attempt.task.cancel() }
        for attempt in attempts.values { await attempt.task.value }
        if let winner { return await take(winner) }
        throw Task.isCancelled ? .cancelled : failure ?? .cancelled
    }

    /// False when all have been asked.
    @discardableResult
    private mutating func askNext() -> Bool {
        guard let replica = waiting.popFirst() else { return false }
        asked += 1
        let number = asked
        let isFree = !attempts.values.contains { $0.buffer === buffer }
        let target = isFree ? buffer : ChunkBuffer(capacity: buffer.capacity)
        let health = client.health(of: replica.relay)
        isUndecided.withLock { $0 = !attempts.isEmpty }
        let (client, chunk, counter, mailbox, isUndecided) = (client, chunk, counter, mailbox, isUndecided)
        let task = Task {
            do throws(XFTPError) {
                try await client.fetch(chunk, from: replica, into: target) { count in
                    counter(count)
                    guard count > 0 else { return }
                    health.sentBytes()
                    let decides = isUndecided.withLock { isUndecided in
                        defer { isUndecided = false }
                        return isUndecided
                    }
                    if decides { mailbox.yield(.byte(number)) }
                }
                mailbox.yield(.ended(number, nil))
            } catch {
                mailbox.yield(.ended(number, error))
            }
        }
        attempts[number] = Attempt(
            replica: replica, buffer: target, health: health, start: .now, task: task)
        lookAgain(after: timeout)
        return true
    }

    /// Asks one more when all that were asked are silent.
    private mutating func look() {
        let shortest = attempts.values.map { $0.health.silence(since: $0.start) }.min() ?? .zero
        if shortest < timeout { return lookAgain(after: timeout - shortest) }
        askNext()
    }

    private func lookAgain(after delay: Duration) {
        guard !waiting.isEmpty else { return }
        Task { [mailbox] in
            try? await Task.sleep(for: delay)
            mailbox.yield(.look)
        }
    }

    private mutating func giveUpAll(but number: Int) {
        for (other, attempt) in attempts where other != number {
            attempt.health.failed()
            attempt.task.cancel()
        }
    }

    private mutating func note(_ error: XFTPError, _ attempt: Attempt) {
        var error = error
        if error.code == .cancelled {
            // It lost; should the winner fail, it may do better another time.
            error = XFTPError(.timedOut, "The relay \(attempt.replica.relay.name) sent nothing for a while.")
        }
        if !error.isTemporary { refused.append(attempt.replica) }
        // What can still get better decides whether there is another round.
        if failure == nil || error.isTemporary { failure = error }
    }

    private func take(_ winner: ChunkBuffer) async {
        guard winner !== buffer else { return }
        await ThreadPool.shared.run { [buffer] in buffer.copy(winner) }
    }
}
