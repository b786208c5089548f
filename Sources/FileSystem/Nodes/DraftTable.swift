import Base
import Namespace

/// Drafts by id, so that nothing has to ask the outbox for one. A draft is here from before its node is shown until
/// after it was removed or has become an item. Any thread, from memory.
final class DraftTable: Sendable {
    private let drafts = Lock<[DraftID: any DraftFile]>([:])

    func add(_ draft: any DraftFile) { drafts.withLock { $0[draft.entryID] = draft } }
    func remove(_ draft: any DraftFile) { drafts.withLock { $0[draft.entryID] = nil } }
    func draft(_ id: DraftID) -> (any DraftFile)? { drafts.withLock { $0[id] } }
}

extension DraftFile {
    /// Its id as the namespace has it.
    var entryID: DraftID { DraftID(id) }
}
