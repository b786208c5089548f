import Posix
import TestSupport

/// `chatfs relay` for files and messages.
struct RunningRelay {
    private let process: RunningProcess
    let files: String
    let messages: String

    /// Stores its certificates, chunks and queues below the folder.
    static func start(in folder: TemporaryFolder) async throws -> RunningRelay {
        let process = try await ChatFSProcess.start(["relay", "--dir", folder.path("relay")])
        return RunningRelay(
            process: process,
            files: try await process.line("its address for files") { $0.hasPrefix("xftp://") },
            messages: try await process.line("its address for messages") { $0.hasPrefix("smp://") })
    }

    @discardableResult
    func terminate() async throws -> ChildProcess.Ending { try await process.terminate() }
}
