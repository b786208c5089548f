/// A chunk of a file that is fetched.
struct RequestedChunk<File: Hashable & Sendable>: Hashable, Sendable {
    let file: File
    let chunk: Int
}

enum FetchPriority: CaseIterable, Hashable, Sendable {
    /// Reads a chunk of an earlier mount from the disk.
    case check
    case demand
    case ahead
    case background

    /// The order if it is the background's turn.
    static let backgroundTurn: [FetchPriority] = [.check, .demand, .background, .ahead]
}

/// A fetch that has begun and has not ended.
struct FetchFlight<File: Hashable & Sendable>: Sendable {
    let fetch: RequestedChunk<File>
    let bytes: UInt64
    let relay: String
    let start: Duration
    let priority: FetchPriority
    /// Time of its start or of the last received bytes.
    var lastSign: Duration
    /// Received bytes.
    var received: UInt64 = 0
    var isCancelled = false
    /// All bytes have arrived; the memory is still in use.
    var hasArrived = false

    /// True if the missing bytes are fewer than a far relay sends during one round trip.
    var isNearlyHere: Bool { !hasArrived && received >= bytes / 4 * 3 }
}
