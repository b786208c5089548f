import ChatCore
import CommandLineKit
import EmbeddedCore
import Posix

extension Invocation {
    /// The data directory of `--data`, opened.
    /// - Parameter isMade: whether it is made when it is missing; else that is an error.
    func dataDirectory(isMade: Bool = false) async throws -> DataDirectory {
        let access = try DirectoryAccess(self)
        return try await ThreadPool.shared.run { try access.open(isMade: isMade) }
    }

    /// Does something with the profile of `--profile` in the data directory of `--data`. `body` may block.
    func withProfile<Result: Sendable>(
        _ body: @escaping @Sendable (DataDirectory, Profile) throws(ChatError) -> Result
    ) async throws -> Result {
        let directory = try await dataDirectory()
        let name = self["profile"]
        return try await ThreadPool.shared.run { () throws(ChatError) in
            try body(directory, try directory.profile(named: name))
        }
    }
}
