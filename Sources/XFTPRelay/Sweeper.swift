import Base
import Glibc
import Posix

/// Deletes expired chunks at the start and periodically, on its own thread. Commands check expiry themselves, so they
/// do not wait for it.
final class Sweeper: Sendable {
    /// Signalled by `stop`.
    private let stopping: WakeUp
    private let ended = OneTimeEvent()

    init(service: RelayService, expiry: Duration) throws(SystemError) {
        stopping = try WakeUp()
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
            ended.happen()
        }
    }

    /// Returns true if the sweeper must stop.
    private func sleep(milliseconds: Int64) -> Bool {
        var requests = [pollfd(fd: stopping.descriptor, events: Int16(POLLIN), revents: 0)]
        return poll(&requests, milliseconds: Int32(clamping: milliseconds)) > 0
    }

    func stop() async {
        stopping.notify()
        await ended.wait()
    }
}
