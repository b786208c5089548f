import Base
import Glibc
import Posix

/// The thread that deletes expired chunks now and then. Access to them ends on time without it.
final class Sweeper: Sendable {
    private let wakeUp: WakeUp
    private let state = Lock<(isStopping: Bool, hasEnded: Bool, waiting: [CheckedContinuation<Void, Never>])>(
        (false, false, []))

    init(service: RelayService, expiry: Duration) throws(SystemError) {
        wakeUp = try WakeUp()
        let pause = min(600, max(1, expiry.components.seconds / 8))
        Thread.start("relay-sweeper") { [self] in
            while !sleep(seconds: pause) {
                do {
                    let count = try service.expire()
                    if count > 0 { Log("relay").information("\(count) chunks have expired.") }
                } catch {
                    Log("relay").error("Expired chunks could not be deleted. \(sentence(of: error))")
                }
            }
            let waiting = state.withLock { state in
                state.hasEnded = true
                return state.waiting
            }
            for continuation in waiting { continuation.resume() }
        }
    }

    /// True when it is time to stop.
    private func sleep(seconds: Int64) -> Bool {
        var requests = [pollfd(fd: wakeUp.descriptor, events: Int16(POLLIN), revents: 0)]
        poll(&requests, milliseconds: Int32(clamping: seconds * 1000))
        return state.withLock { $0.isStopping }
    }

    func stop() async {
        state.withLock { $0.isStopping = true }
        wakeUp.ring()
        await withCheckedContinuation { continuation in
            let hasEnded = state.withLock { state in
                if !state.hasEnded { state.waiting.append(continuation) }
                return state.hasEnded
            }
            if hasEnded { continuation.resume() }
        }
    }
}
