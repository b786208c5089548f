import Base
import ChatCore
import Glibc

extension FileSystem {
    static let deletableForEveryone = Duration.seconds(24 * 3600)

    /// How an item may be deleted, or why not.
    func deletionMode(of item: ChatItem) -> Result<DeletionMode, FileSystemError> {
        switch settings.deletion {
        case .refused:
            return .failure(FileSystemError(EPERM, "Mounted without --delete: entries are kept."))
        case .own:
            return .success(.internal)
        case .everyone:
            guard item.direction == .sent, now() < item.time.advanced(by: Self.deletableForEveryone) else {
                return .failure(
                    FileSystemError(
                        EPERM, "Only own messages of the last 24 hours can be deleted for everyone."))
            }
            guard deletions.withLock({ $0.take() }) else {
                return .failure(
                    FileSystemError(
                        EPERM, "More than \(DeletionBudget.most) deletions for everyone in a minute."))
            }
            return .success(.broadcast)
        }
    }
}
