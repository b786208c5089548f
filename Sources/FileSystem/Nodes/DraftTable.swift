import Base
import Namespace

/// The drafts by id, as a cache of the outbox. Contains a draft from before its node is shown until after it is removed
/// or has become an item. Answers from memory; thread-safe.
final class DraftTable: Sendable {
    private let drafts = Lock<[DraftID: any DraftFile]>([:])

    func add(_ draft: any DraftFile) { drafts.withLock { $0[draft.entryID] = draft } }
    func remove(_ draft: any DraftFile) { drafts.withLock { $0[draft.entryID] = nil } }
    func draft(_ id: DraftID) -> (any DraftFile)? { drafts.withLock { $0[id] } }
}

extension DraftFile {
    /// The draft's id in the namespace.
    var entryID: DraftID { DraftID(id) }
}
