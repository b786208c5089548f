import CommandLineKit
import Network
import XFTP

/// The common part of the commands that transfer files without a chat.
enum CommandTransfer {
    /// Returns a client for relays that the user, or the user's own description, names.
    static func client() -> XFTPClient { XFTPClient(settings: XFTPClientSettings(policy: .everything)) }

    /// Returns a client for another person's description or link. It contacts only approved relays in the local
    /// network.
    static func client(approving inward: InwardRelays) -> XFTPClient {
        XFTPClient(
            settings: XFTPClientSettings(policy: OutboundPolicy(chosen: inward.approved.flatMap(\.places))))
    }

    /// Runs `work` until it ends or a stop signal arrives. Then cancels it, prints `advice` and throws the shell's exit
    /// code for the signal.
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
