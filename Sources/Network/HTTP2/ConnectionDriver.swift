import Base
import Glibc
import Posix

/// Moves bytes between a socket, TLS and an HTTP/2 session, on the thread that owns all three.
///
/// `step` does all available work without waiting; `wait` sleeps until there is more.
final class ConnectionDriver {
    private let stream: TLSStream
    private let session: HTTP2Session
    private let wakeUp: WakeUp
    /// Decrypted bytes of several records. Larger pieces need fewer calls of the session, the body sinks and the
    /// ciphers.
    private let incoming = ByteQueue(capacity: recordsAtOnce * record)
    /// Frames before encryption.
    private let frames = ByteQueue(capacity: 136 << 10)
    private var isBlocked = false
    private var replenished = ContinuousClock.now

    /// The maximum length of a record (RFC 8446, 5.1).
    private static let record = 16 << 10
    private static let recordsAtOnce = 4
    /// The number of reads and writes in one step before the other direction is served.
    private static let readsEachStep = 8
    private static let gathersEachStep = 8

    init(stream: TLSStream, session: HTTP2Session, wakeUp: WakeUp) {
        self.stream = stream
        self.session = session
        self.wakeUp = wakeUp
    }

    struct Step {
        /// Bytes were moved in either direction.
        var moved = 0
        /// No work before the socket is ready or the wake-up rings.
        var isIdle = false
        /// The peer closed, or both sides are done.
        var hasEnded = false
    }

    func step() throws(NetworkError) -> Step {
        replenish()
        var step = Step()
        let isDry = try read(&step)
        let isQuiet = try write(&step)
        if session.isFinished && isQuiet {
            if let reason = session.violationReason {
                throw NetworkError(.protocolViolation, "The peer does not speak HTTP/2 properly: \(reason).")
            }
            step.hasEnded = true
        }
        step.isIdle = isDry && (isQuiet || isBlocked)
        return step
    }

    /// Returns true if the socket has no more bytes for now.
    private func read(_ step: inout Step) throws(NetworkError) -> Bool {
        for _ in 0..<Self.readsEachStep {
            incoming.removeAll()
            let ending = fill()
            // Bytes before an end or an error are processed first.
            if !incoming.isEmpty {
                step.moved += incoming.count
                try session.receive(incoming.bytes)
            }
            switch try ending.get() {
            case .bytes: continue
            case .wouldBlock: return true
            case .ended:
                step.hasEnded = true
                return true
            }
        }
        return false
    }

    /// Decrypts records as far as there is capacity. Returns the reason for stopping: `bytes` if the capacity is used
    /// up.
    private func fill() -> Result<TLSStream.Reading, NetworkError> {
        Result { () throws(NetworkError) in
            while true {
                var reading = TLSStream.Reading.wouldBlock
                _ = try incoming.append(upTo: Self.record) { buffer throws(NetworkError) in
                    reading = try stream.read(into: buffer)
                    if case .bytes(let count) = reading { return count }
                    return 0
                }
                guard case .bytes = reading, incoming.freeCapacity >= Self.record else { return reading }
            }
        }
    }

    /// Returns true if the session has no more output for now and the socket accepted all.
    private func write(_ step: inout Step) throws(NetworkError) -> Bool {
        for _ in 0..<Self.gathersEachStep {
            isBlocked = try !stream.flush()
            if isBlocked { return false }
            frames.removeAll()
            try session.fill(frames)
            if frames.isEmpty { return true }
            step.moved += frames.count
            try stream.write(frames.bytes)
        }
        isBlocked = try !stream.flush()
        return false
    }

    /// Sleeps until the socket is ready, the wake-up rings or the deadline passes.
    func wait(until deadline: Deadline?) throws(NetworkError) {
        let events = Int16(POLLIN) | (isBlocked ? Int16(POLLOUT) : 0)
        var requests = [
            pollfd(fd: stream.socket.descriptor, events: events, revents: 0),
            pollfd(fd: wakeUp.descriptor, events: Int16(POLLIN), revents: 0),
        ]
        poll(&requests, milliseconds: deadline?.milliseconds ?? -1)
        if requests[1].revents != 0 { wakeUp.clear() }
    }

    /// Sends GOAWAY and close_notify as far as the socket accepts them at once.
    func shutDown() {
        session.goAway()
        frames.removeAll()
        if (try? session.fill(frames)) != nil, !stream.hasUnsent { try? stream.write(frames.bytes) }
        stream.shutDown()
    }

    private func replenish() {
        let seconds = replenished.duration(to: .now).components.seconds
        guard seconds > 0 else { return }
        session.replenish(Int(clamping: seconds) &* 20)
        replenished = .now
    }
}
