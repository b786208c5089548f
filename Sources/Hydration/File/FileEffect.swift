import ChatCore

/// What a `FileMachine` wants to be done.
enum FileEffect<Download: AnyObject & Sendable, Whole: AnyObject & Sendable>: Sendable {
    /// Find out where the bytes are: the core's copy, chunks to be claimed, or the core itself.
    case prepare(Preparation)
    /// The storage pipeline goes on where it failed.
    case resumeStorage(Download)
    /// All chunks have gone through the storage pipeline: hand the whole to the core.
    case complete(Download)
    /// Answer a waiting reader; nil: its bytes are available.
    case answer(WaitingReaders.ID, FileProblem?)
    /// Take this from everybody who holds it.
    case erase(FilePhase<Download, Whole>.Content)
    /// Give the claim back, with the reason when there is one.
    case abandonClaim(FileProblem?)
    /// Whether the file is to be received to its end.
    case retainUnfinished(Bool)
    case conditionChanged
    /// The kernel's pages must go.
    case contentInvalid
    /// The object is to leave the registry.
    case retired

    var isConditionChange: Bool {
        if case .conditionChanged = self { true } else { false }
    }
}

/// Where a read finds its bytes.
enum ReadTarget<Download: AnyObject & Sendable, Whole: AnyObject & Sendable>: Sendable {
    /// In the cache, from this position of the stream on.
    case chunks(Download, position: UInt64)
    case whole(Whole)
    case pending
    case failed(FileProblem)
}

/// What a preparation found.
enum PreparationResult<Download: AnyObject & Sendable, Whole: AnyObject & Sendable>: Sendable {
    /// - Parameter isReceivedByCore: the core fetches its durable copy itself.
    case chunks(Download, ChunkLayout, isReceivedByCore: Bool)
    case whole(Whole, cached: UInt64)
    /// The core receives it.
    case awaitingCore
    /// The sender has not finished its upload.
    case awaitingDescription
}
