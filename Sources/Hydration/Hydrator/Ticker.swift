import Base
import XFTP

/// Calls files periodically while a deadline or retry is pending, and the scheduler for their readers. Thread-safe.
final class Ticker: Sendable {
    private struct State {
        var files: [ObjectIdentifier: CachedFile] = [:]
        var isRunning = false
    }

    /// Interval while readers wait, and without readers.
    private static let interval = Duration.milliseconds(50)
    private static let slowInterval = Duration.milliseconds(500)

    private let state = Lock(State(), rank: .ticker)
    private let tasks: TaskSet
    private let transfers: ChunkTransfers

    init(_ tasks: TaskSet, _ transfers: ChunkTransfers) { (self.tasks, self.transfers) = (tasks, transfers) }

    /// Sets whether a file needs ticks. Returns true if the caller must call `run`, outside the file's lock.
    func set(_ file: CachedFile, _ needsTicks: Bool) -> Bool {
        state.withLock { state in
            state.files[ObjectIdentifier(file)] = needsTicks ? file : nil
            return needsTicks && !state.isRunning
        }
    }

    /// Starts the ticks unless they run. They end when no file needs them.
    func run() {
        let begins = state.withLock { state in
            defer { state.isRunning = true }
            return !state.isRunning
        }
        if begins { tasks.spawn { await self.tick() } }
    }

    private func tick() async {
        var isAwaited = true
        while (try? await Task.sleep(for: isAwaited ? Self.interval : Self.slowInterval)) != nil {
            isAwaited = false
            for file in state.withLock({ Array($0.files.values) }) {
                if file.tick() { isAwaited = true }
            }
            transfers.schedule()
            let goesOn = state.withLock { state in
                // Checked under the lock, so that a concurrent `run` does not see a tick that is about to
                // end.
                state.isRunning = !state.files.isEmpty
                return state.isRunning
            }
            if !goesOn { return }
        }
    }
}
