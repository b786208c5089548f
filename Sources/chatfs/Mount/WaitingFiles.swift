import Base
import Outbox
import Posix
import Unlocking

/// What a mount that has ended says of files that were copied in and could not be sent yet.
enum WaitingFiles {
    /// Nil when there are none.
    static func words(_ count: Int) -> String? {
        switch count {
        case 0: nil
        case 1: "1 file is not sent yet; it goes when the profile is mounted the next time"
        default: "\(count) files are not sent yet; they go when the profile is mounted the next time"
        }
    }

    /// The same of the profile in a folder, whose process has ended. Nil too where that cannot be unlocked without
    /// asking anybody: it is only a word.
    static func words(ofProfileIn folder: String) async throws -> String? {
        try await ThreadPool.shared.run {
            // Two folders below the data directory, with every core.
            let data = folder.parentPath.parentPath
            let access = DirectoryAccess(path: data, ways: .quiet)
            guard try access.folder.condition != .encrypted || (try? access.key()) != nil else { return nil }
            return words(try Outbox.waiting(inFolder: folder + "/outbox", key: access.key()))
        }
    }
}
