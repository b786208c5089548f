import Base
import ChatCore
import Posix

/// Steps of the machine, and what follows from them: waiters go on, tasks begin, time passes.
extension Hydrator {
    /// How often deadlines are looked at while somebody waits, and while nobody does but something is to
    /// be tried again.
    private static let tick = Duration.milliseconds(50)
    private static let slowTick = Duration.milliseconds(500)

    var now: Duration { ContinuousClock.now - start }

    /// One step of the machine and what follows from it.
    func transact(_ step: (inout HydrationMachine, Duration) -> [HydrationMachine.Action]) {
        let now = now
        var resumptions: [(CheckedContinuation<WaitOutcome, Never>, WaitOutcome)] = []
        // Contents close files when they go: not under the lock.
        var released: [Content] = []
        var erased: [Content] = []
        let (actions, startsTicking) = shared.withLock { shared in
            let actions = shared.isLeaving ? [] : step(&shared.machine, now)
            for action in actions {
                switch action {
                case .wake(let waiter, let problem):
                    guard let continuation = shared.waiters.removeValue(forKey: waiter) else { continue }
                    resumptions.append((continuation, problem.map(WaitOutcome.failed) ?? .ready))
                case .drop(let file):
                    if let content = shared.contents.removeValue(forKey: file) { released.append(content) }
                case .erase(let file):
                    if let content = shared.contents.removeValue(forKey: file) { erased.append(content) }
                default: break
                }
            }
            let startsTicking = !shared.isTicking && !shared.isLeaving && shared.machine.needsTicks()
            if startsTicking { shared.isTicking = true }
            return (actions, startsTicking)
        }
        for (continuation, outcome) in resumptions { continuation.resume(returning: outcome) }
        withExtendedLifetime(released) {}
        for content in erased { spawn { _ in await ThreadPool.shared.run { content.erase() } } }
        carryOut(actions)
        if startsTicking { spawn { await $0.keepTicking() } }
    }

    func carryOut(_ actions: [HydrationMachine.Action]) {
        for action in actions {
            switch action {
            case .prepare(let file, let generation):
                spawn { await $0.prepare(file, generation) }
            case .fetch(let file, let generation, let chunk):
                beginFetch(HydratorState.Fetch(file: file, generation: generation, chunk: chunk))
            case .cancel(let file, let generation, let chunk):
                cancel(HydratorState.Fetch(file: file, generation: generation, chunk: chunk))
            case .pass(let file, let generation):
                spawn { $0.passAgain(file, generation) }
            case .complete(let file, let generation):
                spawn { await $0.complete(file, generation) }
            case .abandon(let file, let problem):
                spawn { await $0.core.abandonClaim(file, problem: problem) }
            case .noteUnfinished: noteUnfinished()
            case .changed(let file): tell(.conditionChanged(file))
            case .invalidated(let file): tell(.contentInvalid(file))
            case .wake, .drop, .erase: break
            }
        }
    }

    /// A task that `shutDown` cancels and awaits.
    func spawn(_ work: @escaping @Sendable (Hydrator) async -> Void) {
        shared.withLock { shared in
            guard !shared.isLeaving else { return }
            let number = shared.number()
            shared.tasks[number] = Task {
                await work(self)
                self.shared.withLock { $0.tasks[number] = nil }
            }
        }
    }

    private func beginFetch(_ fetch: HydratorState.Fetch) {
        let cancelled: Task<Void, Never>? = shared.withLock { shared in
            guard !shared.isLeaving else { return nil }
            let number = shared.number()
            let task = Task {
                await self.fetch(fetch.file, fetch.generation, fetch.chunk)
                self.shared.withLock { shared in
                    shared.tasks[number] = nil
                    // The same chunk may be under way once more.
                    if shared.fetches[fetch] == number { shared.fetches[fetch] = nil }
                }
            }
            shared.tasks[number] = task
            shared.fetches[fetch] = number
            let (file, generation, chunk) = (fetch.file, fetch.generation, fetch.chunk)
            return shared.machine.isCancelled(file, generation, chunk: chunk) ? task : nil
        }
        cancelled?.cancel()
    }

    /// One that has not begun yet is cancelled when it begins.
    private func cancel(_ fetch: HydratorState.Fetch) {
        let task = shared.withLock { shared in shared.fetches[fetch].flatMap { shared.tasks[$0] } }
        task?.cancel()
    }

    private func tell(_ change: HydrationChange) {
        let listeners = shared.withLock { Array($0.listeners.values) }
        for listener in listeners { listener.yield(change) }
    }

    private func keepTicking() async {
        var isAwaited = true
        while (try? await Task.sleep(for: isAwaited ? Self.tick : Self.slowTick)) != nil {
            transact { machine, now in machine.tick(now: now) }
            let goesOn = shared.withLock { shared in
                shared.isTicking = shared.machine.needsTicks()
                isAwaited = !shared.waiters.isEmpty
                return shared.isTicking
            }
            if !goesOn { return }
        }
    }
}
