import Base
import ChatCore

/// A received file as its row has it.
struct Offer {
    var status: String
    var transport: String
    /// Whether its description has arrived.
    var isDescribed: Bool
    var problem: FileProblem
    var size: UInt64
    var approved: Bool
    var created: Timestamp
}
