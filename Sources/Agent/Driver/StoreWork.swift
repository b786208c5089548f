import Base
import Posix
import Store

/// Runs database work on threads that may block.
struct StoreWork: Sendable {
    let store: AgentStore
    let pool: ThreadPool
    let log: Log

    func run<Result: Sendable>(
        _ body: @escaping @Sendable (AgentStore) throws -> Result
    ) async throws -> Result {
        try await pool.run { [store] in try body(store) }
    }

    /// Runs work that the caller retries. Logs a failure and returns nil.
    /// - Parameter step: short name of the step for the log.
    func attempt<Result: Sendable>(
        _ step: String, _ body: @escaping @Sendable (AgentStore) throws -> Result
    ) async -> Result? {
        do {
            return try await run(body)
        } catch let error as StoreError where error.code == .notAllowed && store.isClosed {
            return nil
        } catch {
            log.warning("database step failed: step=\"\(step)\" error=\(sentenceWithCauses(of: error))")
            return nil
        }
    }
}
