import CommandLineKit

extension Invocation {
    /// Does what must not be cut off in the middle: a signal cancels it, and it has `grace` to leave things as they were.
    /// - Throws: the exit code of the signal.
    func untilStopped(
        grace: Duration = .milliseconds(300), _ work: @escaping @Sendable () async throws -> Void
    ) async throws {
        guard try await stop.interrupting(grace: grace, work) == nil else { return }
        throw ExitCode(128 + (await stop.wait()))
    }
}
