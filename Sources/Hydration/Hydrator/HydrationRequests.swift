import Base
import ChatCore

/// Hydrates files for commands that poll the progress. All requests for one file share one wait, with the
/// timeout of the first. Thread-safe.
public final class HydrationRequests: Sendable {
    public enum Answer: Hashable, Sendable {
        /// Finished; nil means success.
        case ended(FileProblem?)
        /// Running, with the progress in per cent. Ask again.
        case pending(progress: Int)
    }

    private struct Wait {
        var task: Task<FileProblem?, Never>
        var requests = 0
    }

    private let hydrator: Hydrator
    private let timeout: Duration
    private let slice: Duration
    private let waits = Lock<[FileID: Wait]>([:])

    /// - Parameters:
    ///   - timeout: Maximum time without progress, over all requests.
    ///   - slice: Maximum duration of one call. A wait without a request for ten slices is cancelled.
    public init(_ hydrator: Hydrator, timeout: Duration = .seconds(60), slice: Duration = .seconds(1)) {
        self.hydrator = hydrator
        self.timeout = timeout
        self.slice = slice
    }

    /// Starts or joins the hydration of a file and waits at most one slice.
    public func ask(_ item: ChatItem) async -> Answer {
        guard let file = item.file?.id else { return .ended(nil) }
        let (task, request) = waits.withLock { waits in
            var wait =
                waits[file]
                ?? Wait(
                    task: Task { [hydrator, timeout] in await hydrator.hydrate(item, timeout: timeout) })
            wait.requests += 1
            waits[file] = wait
            return (wait.task, wait.requests)
        }
        if case .success(let problem) = await task.result(within: slice) {
            end(file, task)
            return .ended(problem)
        }
        Task { [weak self, slice] in
            try? await Task.sleep(for: slice * 10)
            self?.giveUp(file, task, ifNobodyAskedAfter: request)
        }
        return .pending(progress: hydrator.condition(of: file).progress)
    }

    /// Cancels the wait for a file, for all callers.
    public func cancel(_ file: FileID) async {
        let task = waits.withLock { $0.removeValue(forKey: file)?.task }
        task?.cancel()
        _ = await task?.value
    }

    private func end(_ file: FileID, _ task: Task<FileProblem?, Never>) {
        waits.withLock { if $0[file]?.task == task { $0[file] = nil } }
    }

    private func giveUp(
        _ file: FileID, _ task: Task<FileProblem?, Never>, ifNobodyAskedAfter request: Int
    ) {
        guard waits.withLock({ $0[file]?.task == task && $0[file]?.requests == request }) else { return }
        end(file, task)
        task.cancel()
    }
}
