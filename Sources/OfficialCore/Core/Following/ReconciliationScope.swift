/// How much is compared.
enum ReconciliationScope: Sendable {
    case newest
    /// Also whether something deeper in the history is missing or too much.
    case whole
    /// Only the chats that earlier comparisons left out because their history was being read.
    case leftOut
}
