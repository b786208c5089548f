import ChatCore

/// What a read found.
public enum ReadResult: Sendable {
    /// So many bytes, fewer than asked only at the end of the file.
    case filled(Int)
    /// All of them, but not in the reader's memory. Only from a read that does not wait.
    case ready(any ReadyBytes)
    /// Not all of them are available: wait for them. Only from a read that does not wait.
    case pending
    case failed(FileProblem)
    /// The reader's task was cancelled. Only from a read that waits.
    case cancelled
}

/// Bytes of a file that were made before somebody asked. They stay as they are for as long as this is held; then
/// their memory is used for others.
public protocol ReadyBytes: AnyObject, Sendable {
    var bytes: UnsafeRawBufferPointer { get }
}
