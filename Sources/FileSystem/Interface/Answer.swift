import Base
import Hydration

/// How an operation is answered: at once, or by work that waits (disk, relay, core) and runs in a
/// task of its own. Whoever runs the work may cancel it; it then answers EINTR.
public enum Answer<Value: Sendable>: Sendable {
    case now(Result<Value, FileSystemError>)
    case later(@Sendable () async -> Result<Value, FileSystemError>)

    static func done(_ value: Value) -> Self { .now(.success(value)) }
    static func refused(_ error: FileSystemError) -> Self { .now(.failure(error)) }
}

/// The answer to a read. `later` fills the beginning of the buffer that it is given, at least as long as the
/// one that was asked for first.
public enum ReadAnswer: Sendable {
    case filled(Int)
    /// All of the bytes, but not in the buffer.
    case ready(any ReadyBytes)
    case failed(FileSystemError)
    case later(@Sendable (ReadBuffer) async -> Result<Int, FileSystemError>)
}
