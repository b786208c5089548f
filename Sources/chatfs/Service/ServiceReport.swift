import Base
import FileSystem
import Posix

/// Tells the service manager what a mount does, and that it answers.
///
/// A sign of life is sent only after the filesystem has given its status. If it hangs, the manager's limit passes and
/// the manager starts the mount again.
final class ServiceReport: Sendable {
    /// Without a limit of the manager the status text is this old at most.
    private static let pause = Duration.seconds(30)

    private let socket: ServiceSocket
    private let isLeaving = Lock(false)

    init(_ socket: ServiceSocket) {
        self.socket = socket
    }

    /// Says that the folder is ready, and begins to report. Ends when the returned task is cancelled.
    ///
    /// - Parameter status: of the mount at this moment.
    func begin(_ status: @escaping @Sendable () async -> MountStatus) -> Task<Void, Never> {
        socket.ready("the folder can be used")
        return Task { [self] in
            var shown = ""
            while !Task.isCancelled {
                // While the mount ends, its parts are closed: the manager's limit for stopping counts then.
                if !isLeaving.withLock({ $0 }) {
                    let text = Self.text(await status())
                    if text != shown, !isLeaving.withLock({ $0 }) { socket.show(text) }
                    shown = text
                }
                socket.alive()
                try? await Task.sleep(for: socket.heartbeat.map { min($0, Self.pause) } ?? Self.pause)
            }
        }
    }

    /// Says that the mount ends.
    func leave() {
        isLeaving.withLock { $0 = true }
        socket.stopping("finishing; what was copied in is being queued")
    }

    /// One line: whose mount it is, its totals and the number of things that wait for the user.
    static func text(_ status: MountStatus) -> String {
        let totals = StatusTotals(status)
        let needs = totals.waiting == 0 ? "" : "; \(totals.waiting) waiting for you (chatfs status)"
        return "\(status.profile) at \(status.mountpoint): \(totals.line(rate: nil))\(needs)"
    }
}
