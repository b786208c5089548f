import Base
import CFuse3
import FileSystem
import Glibc

/// A request that a task answers later. The caller may be interrupted meanwhile (FUSE_INTERRUPT).
///
/// The order follows libfuse (`lib/fuse_lowlevel.c`). The interrupt function is set before the task exists. It runs
/// with the request locked, so it only cancels and never replies. It is removed, which waits for a running one, before
/// the reply frees the request.
final class DeferredRequest: @unchecked Sendable {
    // Safe: `run` uses it before the task exists, and `finish` takes it once.
    private var request: Request?

    private enum State {
        case starting(interrupted: Bool)
        case running(Task<Void, Never>)
        case answered
    }

    private let state = Lock(State.starting(interrupted: false))

    init(_ request: consuming Request) { self.request = consume request }

    /// Starts the task that runs `work` and replies. `work` must end by itself or when cancelled. Called once.
    func run(_ work: @escaping @Sendable () async -> @Sendable (consuming Request) -> Void) {
        request?.whenInterrupted(Self.interrupted, Unmanaged.passRetained(self).toOpaque())
        let task = Task { finish(await work()) }
        let isInterrupted = state.withLock { state -> Bool in
            guard case .starting(let interrupted) = state else { return false }
            state = .running(task)
            return interrupted
        }
        if isInterrupted { task.cancel() }
    }

    private func finish(_ answer: (consuming Request) -> Void) {
        guard let request = request.take() else { preconditionFailure("a request was answered twice") }
        state.withLock { $0 = .answered }
        request.whenInterrupted(nil, nil)
        answer(request)
        Unmanaged.passUnretained(self).release()
    }

    private func interrupt() {
        let task = state.withLock { state -> Task<Void, Never>? in
            switch state {
            case .starting:
                state = .starting(interrupted: true)
                return nil
            case .running(let task): return task
            case .answered: return nil
            }
        }
        task?.cancel()
    }

    private static let interrupted: fuse_interrupt_func_t = { _, context in
        guard let context else { return }
        Unmanaged<DeferredRequest>.fromOpaque(context).takeUnretainedValue().interrupt()
    }
}

extension Request {
    /// Replies now, or from a task when the work is done.
    consuming func answer<Value: Sendable>(
        _ answer: Answer<Value>, _ succeed: @escaping @Sendable (consuming Request, Value) -> Void
    ) {
        switch answer {
        case .now(.success(let value)): succeed(self, value)
        case .now(.failure(let error)): fail(error)
        case .later(let work):
            DeferredRequest(self).run {
                switch await work() {
                case .success(let value): return { succeed($0, value) }
                case .failure(let error): return { $0.fail(error) }
                }
            }
        }
    }

    /// Replies without a value.
    consuming func answer(_ answer: Answer<Void>) {
        self.answer(answer) { request, _ in request.succeed() }
    }
}
