import Base
import ChatCore

/// A received file as its row has it.
struct Offer {
    var status: String
    var transport: String
    var description: String?
    var problem: FileProblem
    var size: UInt64
    var approved: Bool
    var created: Timestamp
}
