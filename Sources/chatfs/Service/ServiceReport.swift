import Base
import FileSystem
import Posix
import Synchronization

/// Reports a mount's state and heartbeat to the service manager.
///
/// Sends a heartbeat only after the file system has returned its status, so that the manager restarts a
/// hanging mount.
final class ServiceReport: Sendable {
    /// Maximum age of the status text without a watchdog interval.
    private static let pause = Duration.seconds(30)

    private let socket: ServiceSocket
    private let isLeaving = Atomic(false)

    init(_ socket: ServiceSocket) {
        self.socket = socket
    }

    /// Reports that the folder is ready, and starts the reports. Ends when the returned task is cancelled.
    ///
    /// - Parameter status: Returns the present status of the mount.
    func begin(_ status: @escaping @Sendable () async -> MountStatus) -> Task<Void, Never> {
        socket.ready("the folder is ready")
        return Task { [self] in
            var shown = ""
            while !Task.isCancelled {
                // An ending mount has closed parts; the manager's stop timeout applies instead.
                if !isLeaving.load(ordering: .acquiring) {
                    let text = Self.text(await status())
                    if text != shown, !isLeaving.load(ordering: .acquiring) { socket.show(text) }
                    shown = text
                }
                socket.alive()
                try? await Task.sleep(for: socket.heartbeat.map { min($0, Self.pause) } ?? Self.pause)
            }
        }
    }

    /// Reports that the mount ends.
    func leave() {
        isLeaving.store(true, ordering: .releasing)
        socket.stopping("finishing; queueing files that were copied in")
    }

    /// Returns one line with profile, folder, totals and the number of pending user actions.
    static func text(_ status: MountStatus) -> String {
        let totals = StatusTotals(status)
        let needs = totals.waiting == 0 ? "" : "; \(totals.waiting) waiting for you (chatfs status)"
        return "\(status.profile) at \(status.mountpoint): \(totals.line(rate: nil))\(needs)"
    }
}
