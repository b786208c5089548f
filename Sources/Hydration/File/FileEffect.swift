import ChatCore
import XFTP

/// A command of `FileMachine` to its driver.
enum FileEffect<Download: AnyObject & Sendable, Whole: AnyObject & Sendable>: Sendable {
    /// Find the source of the bytes: the core's copy, chunks to claim, or a download by the core.
    case prepare(Preparation)
    /// Write chunks that are only in memory, if the whole file is wanted.
    case resumeStorage(Download)
    /// Hand the complete file to the core; all chunks are stored.
    case complete(Download)
    /// Answer a waiting reader; nil means that its bytes are available.
    case answer(WaitingReaders.ID, FileProblem?)
    /// Erase this content, even if it is still in use.
    case erase(FilePhase<Download, Whole>.Content)
    /// Abandon the claim, with the reason if there is one.
    case abandonClaim(FileProblem?)
    /// Record or remove that the file is to be received completely.
    case retainUnfinished(Bool)
    case conditionChanged
    /// Invalidate the kernel's pages.
    case contentInvalid
    /// Remove the object from the registry.
    case retired

    var isConditionChange: Bool {
        if case .conditionChanged = self { true } else { false }
    }
}

/// The source of bytes for a read.
enum ReadTarget<Download: AnyObject & Sendable, Whole: AnyObject & Sendable>: Sendable {
    /// In received chunks, at this position of the stream.
    case chunks(Download, position: UInt64)
    case whole(Whole)
    case pending
    case failed(FileProblem)
}

/// The result of a preparation.
enum PreparationResult<Download: AnyObject & Sendable, Whole: AnyObject & Sendable>: Sendable {
    /// - Parameters:
    ///   - isReceivedByCore: True if the core downloads its own durable copy.
    ///   - unchecked: The chunks that an earlier mount received.
    case chunks(Download, ChunkLayout, isReceivedByCore: Bool, unchecked: [Int] = [])
    case whole(Whole, cached: UInt64)
    /// The core downloads the file.
    case awaitingCore
    /// The sender has not finished its upload.
    case awaitingDescription
}
