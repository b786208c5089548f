import ChatCore

/// The result of a read.
public enum ReadResult: Sendable {
    /// Number of bytes read; fewer than requested only at the end of the file.
    case filled(Int)
    /// All bytes, in their own memory. Only from reads that do not wait.
    case ready(any ReadyBytes)
    /// Not all bytes are available. Only from reads that do not wait.
    case pending
    case failed(FileProblem)
    /// The task was cancelled. Only from reads that wait.
    case cancelled
}

/// Bytes that were decrypted ahead of a read. They are unchanged while referenced; then their memory is
/// reused.
public protocol ReadyBytes: AnyObject, Sendable {
    var bytes: UnsafeRawBufferPointer { get }
}
