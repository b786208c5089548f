import Base
import Outbox
import Posix
import Unlocking

/// The message about unsent files after an unmount.
enum WaitingFiles {
    /// Returns nil for none.
    static func words(_ count: Int) -> String? {
        switch count {
        case 0: nil
        case 1: "1 file is not sent yet; the next mount of the profile sends it"
        default: "\(count) files are not sent yet; the next mount of the profile sends them"
        }
    }

    /// Returns the message for a profile's directory whose process has ended; nil if the data cannot be unlocked
    /// without a prompt.
    static func words(ofProfileIn folder: String) async throws -> String? {
        try await ThreadPool.shared.run {
            // With every core, two directories below the data directory.
            let data = folder.parentPath.parentPath
            let access = DirectoryAccess(path: data, ways: .quiet)
            guard try access.folder.condition != .encrypted || (try? access.key()) != nil else { return nil }
            return words(try Outbox.waiting(inFolder: folder + "/outbox", key: access.key()))
        }
    }
}
