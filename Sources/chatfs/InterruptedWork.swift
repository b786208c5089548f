import CommandLineKit

extension Invocation {
    /// Runs work that must not be cut off. A signal cancels it, and it has `grace` to restore the previous state.
    /// - Throws: The exit code of the signal.
    func untilStopped(
        grace: Duration = .milliseconds(300), _ work: @escaping @Sendable () async throws -> Void
    ) async throws {
        guard try await stop.interrupting(grace: grace, work) == nil else { return }
        throw ExitCode(128 + (await stop.wait()))
    }
}
