import CommandLineKit
import Network
import XFTP

/// What the commands that move files without a chat have in common.
enum CommandTransfer {
    /// A client for the user's own command: naming a relay approves it.
    static func client() -> XFTPClient { XFTPClient(settings: XFTPClientSettings(policy: .everything)) }

    /// The same for a description, which approves its relays; not those inside the own network of another one to which it
    /// leads.
    static func client(for description: FileDescription) -> XFTPClient {
        XFTPClient(
            settings: XFTPClientSettings(
                policy: OutboundPolicy(chosen: description.relays.flatMap(\.places))))
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
