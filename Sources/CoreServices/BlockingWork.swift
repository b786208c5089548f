import Base
import ChatCore
import Posix

/// The threads for a core's blocking work (disk, SQLite), and the mapping of its errors to the caller's.
public struct BlockingWork: Sendable {
    private let pool: ThreadPool
    private let log: Log
    private let failure: @Sendable (any Error) -> ChatError

    /// - Parameters:
    ///   - pool: The core's own pool, so that foreign work does not delay it.
    ///   - failure: Maps an error of a lower layer.
    public init(
        _ pool: ThreadPool, _ log: Log,
        failure: @escaping @Sendable (any Error) -> ChatError = { ChatError(wrapping: $0) }
    ) {
        self.pool = pool
        self.log = log
        self.failure = failure
    }

    /// Runs work and returns its result.
    /// - Throws: The mapped error of `body`.
    public func run<Result: Sendable>(
        _ body: @escaping @Sendable () throws -> Result
    ) async throws(ChatError) -> Result {
        do {
            return try await pool.run(body)
        } catch {
            throw failure(error)
        }
    }

    /// Runs work without a waiting caller that is retried later. Logs a failure.
    /// - Parameter deed: The failed operation, for "could not …".
    @discardableResult
    public func attempt<Result: Sendable>(
        _ deed: String, _ body: @escaping @Sendable () throws -> Result
    ) async -> Result? {
        do throws(ChatError) {
            return try await run(body)
        } catch {
            log.warning("could not \(deed): \(sentenceWithCauses(of: error))")
            return nil
        }
    }
}
