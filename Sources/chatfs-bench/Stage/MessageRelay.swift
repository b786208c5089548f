import Posix
import SMP

/// `chatfs relay` with both services, as a child of the stage.
struct MessageRelay: Sendable {
    let process: ObservedProcess
    /// For messages.
    let server: ServerAddress

    static func start(on stage: Stage) async throws -> MessageRelay {
        let process = try await stage.start(
            Stage.chatfs,
            // The contacts' thousands of people share one address here.
            [
                "relay", "--listen", "127.0.0.1:0", "--dir", stage.path("messages"), "--queues-per-hour",
                "1000000000",
            ])
        let line = await process.line(within: .seconds(30)) { $0.hasPrefix("smp://") }
        guard let line, let server = ServerAddress(line) else {
            throw stage.failure("The relay", process)
        }
        return MessageRelay(process: process, server: server)
    }
}
