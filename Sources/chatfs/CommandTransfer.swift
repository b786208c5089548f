import CommandLineKit
import Network
import XFTP

/// What the commands that move files without a chat have in common.
enum CommandTransfer {
    /// A client for relays that the user named, or that the user's own description names.
    static func client() -> XFTPClient { XFTPClient(settings: XFTPClientSettings(policy: .everything)) }

    /// A client for the description or link of somebody else. Of relays inside this machine's own network it contacts
    /// only the approved ones.
    static func client(approving inward: InwardRelays) -> XFTPClient {
        XFTPClient(
            settings: XFTPClientSettings(policy: OutboundPolicy(chosen: inward.approved.flatMap(\.places))))
    }

    /// Runs `work` until it ends or a stop signal comes; then it is cancelled, `advice` is said, and
    /// the exit code is the one shells use for the signal.
    static func stoppable<Result: Sendable>(
        _ invocation: Invocation, advice: String, _ work: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        let task = Task { try await work() }
        let stop = invocation.stop
        Task {
            await stop.wait()
            task.cancel()
        }
        do {
            return try await task.value
        } catch {
            guard stop.isRequested else { throw error }
            Terminal.complain("Interrupted. \(advice)")
            throw ExitCode(128 + (await stop.wait()))
        }
    }
}
