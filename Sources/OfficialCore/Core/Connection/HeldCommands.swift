import Base
import Synchronization

/// Holds commands that need the network while the core is suspended. The core would answer them, and all
/// later commands, only after its activation.
final class HeldCommands: Sendable {
    private let suspension = Suspension()
    private let underWay = Atomic(0)

    func carryOut<Result>(
        _ body: () async throws(OfficialCoreError) -> Result
    ) async throws(OfficialCoreError) -> Result {
        repeat {
            guard await suspension.wait() else {
                throw OfficialCoreError(.disconnected, "The SimpleX core was suspended; nothing was sent.")
            }
        } while !begin()
        defer { underWay.wrappingSubtract(1, ordering: .acquiringAndReleasing) }
        return try await body()
    }

    /// Counted first, so that either `waitForOthers` sees this command or this command sees the suspension.
    private func begin() -> Bool {
        underWay.wrappingAdd(1, ordering: .acquiringAndReleasing)
        if !suspension.isSuspended { return true }
        underWay.wrappingSubtract(1, ordering: .acquiringAndReleasing)
        return false
    }

    /// Holds new commands.
    func hold() { suspension.suspend() }

    func letGo() { suspension.resume() }

    /// Waits, at most `limit`, for commands that started before `hold`.
    func waitForOthers(limit: Duration) async {
        let end = ContinuousClock.now + limit
        while underWay.load(ordering: .acquiring) > 0, ContinuousClock.now < end {
            guard (try? await Task.sleep(for: .milliseconds(10))) != nil else { return }
        }
    }
}
