import Base
import Posix

/// Fetches one chunk from one of its relays. Asks the next relay if the previous one failed or sent nothing for a
/// while. The first byte decides between two relays, and the other transfer is cancelled. Asks no relay twice.
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
        /// Time to check for silent relays.
        case look
        /// The first byte while several relays were asked.
        case byte(Int)
        case ended(Int, XFTPError?)
    }

    private let client: XFTPClient
    private let chunk: FileDescription.Chunk
    /// The caller's buffer. One attempt at a time uses it; other attempts use their own.
    private let buffer: ChunkBuffer
    private let counter: ByteCounter
    private let timeout: Duration

    private var waiting: ArraySlice<Replica>
    private var attempts: [Int: Attempt] = [:]
    private var asked = 0
    /// Whether several relays were asked and no byte has decided yet.
    private let isUndecided = Lock(false)
    private let events: AsyncStream<Event>
    private let mailbox: AsyncStream<Event>.Continuation

    /// Replicas that were refused permanently.
    private(set) var refused: [Replica] = []
    private var failure: XFTPError?

    /// - Parameter replicas: The replicas in the order of asking.
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

    /// Returns when the chunk is in the buffer. Throws a temporary error if there was one.
    mutating func run() async throws(XFTPError) {
        guard askNext() else { throw XFTPError(.damaged, "Chunk \(chunk.number) is on no relay.") }
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
        // No attempt may write to a buffer after this returns, so wait for all of them.
        for attempt in attempts.values { attempt.task.cancel() }
        for attempt in attempts.values { await attempt.task.value }
        if let winner { return await take(winner) }
        throw Task.isCancelled ? .cancelled : failure ?? .cancelled
    }

    /// Returns false if all relays were asked.
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

    /// Asks the next relay if all asked ones are silent.
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
            // This attempt lost the race; it may succeed later if the winner fails.
            error = XFTPError(.timedOut, "The relay \(attempt.replica.relay.name) sent nothing for a while.")
        }
        if !error.isTemporary { refused.append(attempt.replica) }
        // A temporary error allows another round.
        if failure == nil || error.isTemporary { failure = error }
    }

    private func take(_ winner: ChunkBuffer) async {
        guard winner !== buffer else { return }
        await ThreadPool.shared.run { [buffer] in buffer.copy(winner) }
    }
}
