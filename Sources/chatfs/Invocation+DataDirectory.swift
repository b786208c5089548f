import ChatCore
import CommandLineKit
import EmbeddedCore
import Posix

extension Invocation {
    /// Opens the data directory of `--data`.
    /// - Parameter isMade: True to create a missing directory; false makes that an error.
    func dataDirectory(isMade: Bool = false) async throws -> DataDirectory {
        let access = try DirectoryAccess(self)
        return try await ThreadPool.shared.run { try access.open(isMade: isMade) }
    }

    /// Runs `body`, which may block, with the profile of `--profile`.
    func withProfile<Result: Sendable>(
        _ body: @escaping @Sendable (DataDirectory, Profile) throws(ChatError) -> Result
    ) async throws -> Result {
        let directory = try await dataDirectory()
        let name = self[CommonOptions.profile]
        return try await ThreadPool.shared.run { () throws(ChatError) in
            try body(directory, try directory.profile(named: name))
        }
    }
}
