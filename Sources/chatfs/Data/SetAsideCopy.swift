import Base
import ChatCore
import CommandLineKit
import EmbeddedCore
import Glibc
import Posix
import Unlocking

/// A damaged copy in a data directory, by its path DIR/profiles/PROFILE/damaged/FILE. Its key is in the database there.
struct SetAsideCopy {
    private let directory: String
    private let profile: Int64
    private let file: FileID

    /// Returns nil for any other path.
    init?(_ path: String) {
        let path = AbsolutePath.of(path)
        let parts = path.pathNames
        guard parts.count > 4, parts[parts.count - 4] == "profiles", parts[parts.count - 2] == "damaged",
            let profile = Int64(parts[parts.count - 3]), let file = Int64(parts[parts.count - 1])
        else { return nil }
        directory = "/" + parts.dropLast(4).joined(separator: "/")
        guard access("\(directory)/\(DataDirectory.databaseFile)", F_OK) == 0 else { return nil }
        self.profile = profile
        self.file = FileID(file)
    }

    /// - Throws: An error if the directory cannot be unlocked or has no key for the copy.
    func arguments(_ invocation: Invocation) async throws -> FileArguments {
        let access = DirectoryAccess(path: directory, ways: try Ways(invocation))
        let (profile, file) = (profile, file)
        return try await ThreadPool.shared.run {
            let found = try access.open().arguments(ofDamagedCopyOf: file, inProfile: profile)
            guard let found else {
                throw ChatError(
                    .noSuchFile,
                    "The data directory has no key of this copy: its message was deleted, or a good copy was received."
                )
            }
            return found
        }
    }
}
