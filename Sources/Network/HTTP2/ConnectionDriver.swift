import Base
import Glibc
import Posix

/// Moves bytes between a socket, TLS and an HTTP/2 session, on the one thread that owns all three.
///
/// `step` does what can be done without waiting; `wait` sleeps until there is more.
final class ConnectionDriver {
    private let stream: TLSStream
    private let session: HTTP2Session
    private let wakeUp: WakeUp
    /// Decrypted bytes of one record on their way in.
    private let incoming = ByteQueue(capacity: 16 << 10)
    /// Frames on their way to encryption, a good gather at a time.
    private let frames = ByteQueue(capacity: 136 << 10)
    private var isBlocked = false
    private var replenished = ContinuousClock.now

    /// Records read and gathers written in one step before the other direction has its chance.
    private static let recordsEachTurn = 32
    private static let gathersEachTurn = 8

    init(stream: TLSStream, session: HTTP2Session, wakeUp: WakeUp) {
        self.stream = stream
        self.session = session
        self.wakeUp = wakeUp
    }

    struct Step {
        /// Bytes moved in either direction.
        var moved = 0
        /// Nothing to do before the socket is ready or somebody rings.
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

    /// True when the socket has nothing more for now.
    private func read(_ step: inout Step) throws(NetworkError) -> Bool {
        for _ in 0..<Self.recordsEachTurn {
            var reading = TLSStream.Reading.wouldBlock
            incoming.removeAll()
            _ = try incoming.append(upTo: 16 << 10) { buffer throws(NetworkError) in
                reading = try stream.read(into: buffer)
                if case .bytes(let count) = reading { return count }
                return 0
            }
            switch reading {
            case .bytes(let count):
                step.moved += count
                try session.receive(incoming.bytes)
            case .wouldBlock: return true
            case .ended:
                step.hasEnded = true
                return true
            }
        }
        return false
    }

    /// True when the session has nothing more to say for now and the socket took all.
    private func write(_ step: inout Step) throws(NetworkError) -> Bool {
        for _ in 0..<Self.gathersEachTurn {
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

    /// Sleeps until the socket is ready, it is woken or the deadline passes.
    func wait(until deadline: Deadline?) throws(NetworkError) {
        let events = Int16(POLLIN) | (isBlocked ? Int16(POLLOUT) : 0)
        var requests = [
            pollfd(fd: stream.socket.descriptor, events: events, revents: 0),
            pollfd(fd: wakeUp.descriptor, events: Int16(POLLIN), revents: 0),
        ]
        poll(&requests, milliseconds: deadline?.milliseconds ?? -1)
        if requests[1].revents != 0 { wakeUp.clear() }
    }

    /// Says goodbye in HTTP/2 and TLS, as far as the socket takes it at once.
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
