import CommandLineKit

extension Invocation {
    /// Runs work that must restore the previous state when cancelled. A signal cancels it; `grace` limits the
    /// restoration.
    /// - Throws: The exit code of the signal.
    func untilStopped(
        grace: Duration = .milliseconds(300), _ work: @escaping @Sendable () async throws -> Void
    ) async throws {
        guard try await stop.interrupting(grace: grace, work) == nil else { return }
        throw ExitCode(128 + (await stop.wait()))
    }
}
