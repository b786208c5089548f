import Base
import CFuse3
import FileSystem
import Glibc

/// A request that a task answers when its work is done, and that the program that asked may give up
/// meanwhile (the kernel then sends FUSE_INTERRUPT).
///
/// The order is libfuse's (`lib/fuse_lowlevel.c`): the interrupt function is set before a task
/// exists; it runs with the request locked, so it only cancels and never answers; it is taken away
/// again, which waits for one that runs, before the answer frees the request.
final class DeferredRequest: @unchecked Sendable {
    // Safe: used by `run` before the task exists, and taken out by `finish`, once.
    private var request: Request?

    private enum State {
        case starting(interrupted: Bool)
        case running(Task<Void, Never>)
        case answered
    }

    private let state = Lock(State.starting(interrupted: false))

    init(_ request: consuming Request) { self.request = consume request }

    /// Starts the task that works and answers. `work` must end when it is cancelled, or by itself. To be called once.
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
    /// Answers now, or from a task when the work that waits is done.
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

    /// The same for what is answered without a value.
    consuming func answer(_ answer: Answer<Void>) {
        self.answer(answer) { request, _ in request.succeed() }
    }
}
