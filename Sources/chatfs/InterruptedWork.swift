import CommandLineKit

extension Invocation {
    /// Runs work that must restore the previous state when cancelled. A signal cancels it; `grace` limits the
    /// restoration.
    /// - Throws: The exit code of the signal.
    func untilStopped<Result: Sendable>(
        grace: Duration = .milliseconds(300), _ work: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        if let result = try await stop.interrupting(grace: grace, work) { return result }
        throw ExitCode(128 + (await stop.wait()))
    }
}
