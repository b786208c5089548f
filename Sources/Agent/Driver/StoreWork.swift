import Base
import Posix
import Store

/// The database, off the cooperative pool.
struct StoreWork: Sendable {
    let store: AgentStore
    let pool: ThreadPool
    let log: Log

    /// Runs blocking work and awaits its result.
    func run<Result: Sendable>(
        _ body: @escaping @Sendable (AgentStore) throws -> Result
    ) async throws -> Result {
        try await pool.run { [store] in try body(store) }
    }

    /// Runs work that is done again later where it fails; the log says so.
    /// - Parameter deed: for "could not …".
    func attempt<Result: Sendable>(
        _ deed: String, _ body: @escaping @Sendable (AgentStore) throws -> Result
    ) async -> Result? {
        do {
            return try await run(body)
        } catch let error as StoreError where error.code == .notAllowed && store.isClosed {
            return nil
        } catch {
            log.warning("could not \(deed): \(sentenceWithCauses(of: error))")
            return nil
        }
    }
}
