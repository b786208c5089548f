import Base
import ChatCore
import Posix

/// The threads of a core for its blocking work (disk, SQLite), and what an error there means for who gave the
/// command.
public struct BlockingWork: Sendable {
    private let pool: ThreadPool
    private let log: Log
    private let failure: @Sendable (any Error) -> ChatError

    /// - Parameters:
    ///   - pool: of the core's own, so that it waits for nobody else's work.
    ///   - failure: what an error from beneath means.
    public init(
        _ pool: ThreadPool, _ log: Log,
        failure: @escaping @Sendable (any Error) -> ChatError = { ChatError(wrapping: $0) }
    ) {
        self.pool = pool
        self.log = log
        self.failure = failure
    }

    /// Runs work and awaits its result.
    /// - Throws: what `failure` makes of what `body` throws.
    public func run<Result: Sendable>(
        _ body: @escaping @Sendable () throws -> Result
    ) async throws(ChatError) -> Result {
        do {
            return try await pool.run(body)
        } catch {
            throw failure(error)
        }
    }

    /// Runs work that nobody waits for and that is done again later where it fails: then the log says so.
    /// - Parameter deed: what could not be done, for "could not …".
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
