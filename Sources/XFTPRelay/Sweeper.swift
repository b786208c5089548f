import Base
import Glibc
import Posix

/// Deletes expired chunks at the start and periodically, on its own thread. Commands check expiry themselves, so they
/// do not wait for it.
final class Sweeper: Sendable {
    private let wakeUp: WakeUp
    private let state = Lock<(isStopping: Bool, hasEnded: Bool, waiting: [CheckedContinuation<Void, Never>])>(
        (false, false, []))

    init(service: RelayService, expiry: Duration) throws(SystemError) {
        wakeUp = try WakeUp()
        let pause = min(600, max(1, expiry.components.seconds / 8)) * 1000
        let start = service.now
        Thread.start("relay-sweeper") { [self] in
            var next: Int64? = start
            while let now = next {
                do {
                    // Other threads use the records between its transactions.
                    let count = try service.expire(asOf: now) { !self.sleep(milliseconds: 10) }
                    if count > 0 { Log("relay").information("chunks expired: count=\(count)") }
                } catch {
                    Log("relay").error("expired chunks not deleted: error=\(sentence(of: error))")
                }
                next = sleep(milliseconds: pause) ? nil : service.now
            }
            let waiting = state.withLock { state in
                state.hasEnded = true
                return state.waiting
            }
            for continuation in waiting { continuation.resume() }
        }
    }

    /// Returns true if the sweeper must stop.
    private func sleep(milliseconds: Int64) -> Bool {
        var requests = [pollfd(fd: wakeUp.descriptor, events: Int16(POLLIN), revents: 0)]
        poll(&requests, milliseconds: Int32(clamping: milliseconds))
        return state.withLock { $0.isStopping }
    }

    func stop() async {
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
}
