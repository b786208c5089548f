import Base

/// Gives files, and the scheduler, a look at the time while that alone can bring them something. Any thread.
final class Ticker: Sendable {
    private struct State {
        var files: [ObjectIdentifier: CachedFile] = [:]
        var isRunning = false
    }

    /// While somebody waits, and while nobody does but something is to be tried again.
    private static let interval = Duration.milliseconds(50)
    private static let slowInterval = Duration.milliseconds(500)

    private let state = Lock(State(), rank: .ticker)
    private let tasks: TaskSet

    init(_ tasks: TaskSet) { self.tasks = tasks }

    /// Whether a file needs ticks from now on. True when `run` is to be called, outside of the file's lock.
    func set(_ file: CachedFile, _ needsTicks: Bool) -> Bool {
        state.withLock { state in
            state.files[ObjectIdentifier(file)] = needsTicks ? file : nil
            return needsTicks && !state.isRunning
        }
    }

    /// Begins, unless it has: goes on until neither a file nor the scheduler needs it.
    func run(for transfers: ChunkTransfers) {
        let begins = state.withLock { state in
            defer { state.isRunning = true }
            return !state.isRunning
        }
        if begins { tasks.spawn { await self.tick(transfers) } }
    }

    private func tick(_ transfers: ChunkTransfers) async {
        var isAwaited = true
        while (try? await Task.sleep(for: isAwaited ? Self.interval : Self.slowInterval)) != nil {
            isAwaited = false
            for file in state.withLock({ Array($0.files.values) }) {
                if file.tick() { isAwaited = true }
            }
            transfers.schedule()
            let goesOn = state.withLock { state in
                // Asked under the lock, or what begins now would take this for still running.
                state.isRunning = !state.files.isEmpty || transfers.needsTicks
                return state.isRunning
            }
            if !goesOn { return }
        }
    }
}
