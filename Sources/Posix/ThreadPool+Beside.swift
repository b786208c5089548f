import Base

extension ThreadPool {
    /// Runs `body` here and `other` on a thread of the pool at the same time. If no thread is free before `body` ends,
    /// `other` runs here afterwards, so unstarted work is never awaited. Both have ended on return. Blocks.
    /// - Throws: The error of `body`, otherwise that of `other`.
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

/// Work that its first claimant performs once.
private final class Offer: Sendable {
    private struct State {
        var work: (@Sendable () throws -> Void)?
        var outcome: Result<Void, any Error>?
    }

    private let state: Monitor<State>

    init(_ work: @escaping @Sendable () throws -> Void) { state = Monitor(State(work: work)) }

    /// Performs the work if it has not started.
    func takeUp() {
        guard let work = state.change({ $0.work.take() }) else { return }
        let outcome = Result(catching: work)
        state.change { $0.outcome = outcome }
    }

    /// The result after its end.
    func outcome() -> Result<Void, any Error> { state.wait { $0.outcome } }
}
