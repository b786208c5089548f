import Base

/// Commands that need the network wait here while the core is suspended: it would answer them only when it is activated,
/// and what was asked after them too.
final class HeldCommands: Sendable {
    private let suspension = Suspension()
    private let underWay = Lock(0)

    func carryOut<Result>(
        _ body: () async throws(OfficialCoreError) -> Result
    ) async throws(OfficialCoreError) -> Result {
        repeat {
            guard await suspension.wait() else {
                throw OfficialCoreError(.disconnected, "The SimpleX core was suspended; nothing was sent.")
            }
        } while !begin()
        defer { underWay.withLock { $0 -= 1 } }
        return try await body()
    }

    /// Counted first: whoever holds them afterwards waits for this one, or this one sees it.
    private func begin() -> Bool {
        underWay.withLock { $0 += 1 }
        if !suspension.isSuspended { return true }
        underWay.withLock { $0 -= 1 }
        return false
    }

    /// From now on they wait.
    func hold() { suspension.suspend() }

    func letGo() { suspension.resume() }

    /// Waits for those that were under way before `hold`, for `limit` at most.
    func waitForOthers(limit: Duration) async {
        let end = ContinuousClock.now + limit
        while underWay.withLock({ $0 > 0 }), ContinuousClock.now < end {
            guard (try? await Task.sleep(for: .milliseconds(10))) != nil else { return }
        }
    }
}
