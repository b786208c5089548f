import Base

extension ThreadPool {
    /// Does two things at once: `body` here, `other` on one of the threads. Where none is free before `body`
    /// is over, `other` is done here after it: nobody ever waits for work that has not begun. Both are over
    /// when this returns. Blocks.
    /// - Throws: what `body` throws; else what `other` does.
    public func doing(
        _ other: @escaping @Sendable () throws -> Void, beside body: () throws -> Void
    ) throws {
        let offer = Offer(other)
        submit { offer.takeUp() }
        let outcome = Result(catching: body)
        offer.takeUp()
        let otherOutcome = offer.outcome()
        try outcome.get()
        try otherOutcome.get()
    }
}

/// Work that the first who comes does, once.
private final class Offer: Sendable {
    private struct State {
        var work: (@Sendable () throws -> Void)?
        var outcome: Result<Void, any Error>?
    }

    private let state: Monitor<State>

    init(_ work: @escaping @Sendable () throws -> Void) { state = Monitor(State(work: work)) }

    /// Does the work, if nobody has begun with it.
    func takeUp() {
        guard let work = state.change({ $0.work.take() }) else { return }
        let outcome = Result(catching: work)
        state.change { $0.outcome = outcome }
    }

    /// How it went, when it is over.
    func outcome() -> Result<Void, any Error> { state.wait { $0.outcome } }
}
