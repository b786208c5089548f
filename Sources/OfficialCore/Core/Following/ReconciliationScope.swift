/// The scope of a comparison.
enum ReconciliationScope: Sendable {
    case newest
    /// Including missing and surplus items in older history.
    case whole
    /// Only chats that earlier comparisons skipped while their history was being read.
    case leftOut
}
