import Base
import Hydration
import Posix

/// How an operation is answered: at once, or by work that waits (disk, relay, core) and runs in a
/// task of its own. Whoever runs the work may cancel it; it then answers EINTR.
public enum Answer<Value: Sendable>: Sendable {
    case now(Result<Value, FileSystemError>)
    case later(@Sendable () async -> Result<Value, FileSystemError>)

    static func done(_ value: Value) -> Self { .now(.success(value)) }
    static func refused(_ error: FileSystemError) -> Self { .now(.failure(error)) }

    /// Work that may wait for the disk, on a thread that may.
    static func blocking(_ body: @escaping @Sendable () throws -> Value) -> Self {
        waiting { try await ThreadPool.shared.run(body) }
    }

    /// Work that waits for others.
    static func waiting(_ body: @escaping @Sendable () async throws -> Value) -> Self {
        .later {
            do {
                return .success(try await body())
            } catch {
                return .failure(FileSystemError(error))
            }
        }
    }

    /// The same answer, made into another once it is there.
    func map<Other: Sendable>(
        _ transform: @escaping @Sendable (Value) -> Result<Other, FileSystemError>
    ) -> Answer<Other> {
        switch self {
        case .now(let result): .now(result.flatMap(transform))
        case .later(let work): .later { await work().flatMap(transform) }
        }
    }

    /// The same; a refusal is given only after `body`, which may block.
    func afterRefusal(_ body: @escaping @Sendable (FileSystemError) -> Void) -> Self {
        if case .now(.success) = self { return self }
        return .later {
            let result = await self.result()
            if case .failure(let error) = result { await ThreadPool.shared.run { body(error) } }
            return result
        }
    }

    /// Waits for it where it is not there yet.
    public func result() async -> Result<Value, FileSystemError> {
        switch self {
        case .now(let result): result
        case .later(let work): await work()
        }
    }
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
