import Base
import ChatCore
import CommandLineKit
import Desktop
import Glibc
import Posix

/// A transfer of a file without a chat, through the process that has a profile. Shows its progress and ends it with the
/// command.
struct StandaloneClient: Sendable {
    let access: ProfileAccess
    let invocation: Invocation

    /// Runs the transfer and returns its final state.
    /// - Parameter title: Text before the progress, such as "Sending".
    func carryOut(_ request: StandaloneRequest, title: String) async throws -> StandaloneState {
        let display = ProgressDisplay(title)
        defer { display.finish() }
        let progress = ShownProgress(display)
        let (access, stop) = (access, invocation.stop)
        // A core of this process needs time to delete its chunks; a daemon does that when the client hangs up.
        let state = try await stop.interrupting(grace: .seconds(12)) {
            try await access.use { daemon in
                try await daemon.transferring(request) { state in
                    if stop.isRequested { throw CancellationError() }
                    progress.show(state)
                }
            } core: { core in
                try await Self.follow(request, core, progress)
            }
        }
        if let state { return state }
        display.finish()
        Terminal.complain("chatfs: Interrupted: the transfer is cancelled.")
        throw ExitCode(128 + (await stop.wait()))
    }

    private static func follow(
        _ request: StandaloneRequest, _ core: any ChatCore, _ progress: ShownProgress
    ) async throws -> StandaloneState {
        let transfer = await StandaloneTransfer.begin(request, on: core)
        while true {
            let state = transfer.state
            if let problem = state.problem { throw DesktopError(.refused, problem) }
            if state.isOver { return state }
            progress.show(state)
            do {
                try await Task.sleep(for: .milliseconds(100))
            } catch {
                await transfer.cancel()
                throw error
            }
        }
    }
}

/// The displayed progress, with each warning once.
private final class ShownProgress: Sendable {
    private let display: ProgressDisplay
    private let warning = Lock<String?>(nil)

    init(_ display: ProgressDisplay) { self.display = display }

    func show(_ state: StandaloneState) {
        if state.total > 0 { display.update(done: state.done, total: state.total) }
        let isNew = warning.withLock { known in
            defer { known = state.warning ?? known }
            return state.warning != nil && state.warning != known
        }
        guard isNew, let text = state.warning else { return }
        display.finish()
        Terminal.note("chatfs: \(text.endingInFullStop) Trying again.")
    }
}

/// Absolute paths without symbolic links, for another process. All methods block.
enum GivenPath {
    static func ofFile(_ path: String) throws(SystemError) -> String {
        try SymbolicLink.resolved(path, to: "open it")
    }

    /// Returns the path of a file to create.
    static func ofNewFile(_ path: String) throws(SystemError) -> String {
        var status = stat()
        guard lstat(path, &status) != 0 else { throw SystemError(code: EEXIST, operation: "make it") }
        let name = path.endsWithBytes(of: "/") ? "" : path.lastPathName ?? ""
        guard !name.isEmpty else { throw SystemError(code: ENOENT, operation: "find the folder") }
        let folder = path.parentPath
        let absolute = try ofFile(folder)
        return (absolute == "/" ? "" : absolute) + "/" + name
    }
}
