import Outbox
import Posix

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

    /// The same of the profile in a folder, whose process has ended.
    static func words(ofProfileIn folder: String) async throws -> String? {
        words(try await ThreadPool.shared.run { try Outbox.waiting(inFolder: folder + "/outbox") })
    }
}
