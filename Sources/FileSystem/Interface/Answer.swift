import Base
import Glibc
import Hydration
import Posix

/// The answer to an operation: an immediate result, or work that waits (for the disk, a relay or the core) and runs in
/// its own task. Cancelled work answers EINTR.
public enum Answer<Value: Sendable>: Sendable {
    case now(Result<Value, FileSystemError>)
    case later(@Sendable () async -> Result<Value, FileSystemError>)

    static func done(_ value: Value) -> Self { .now(.success(value)) }
    static func refused(_ error: FileSystemError) -> Self { .now(.failure(error)) }

    /// Runs `body` on a thread that may block.
    static func blocking(_ body: @escaping @Sendable () throws -> Value) -> Self {
        waiting { try await ThreadPool.shared.run(body) }
    }

    /// Runs asynchronous `body`; an error becomes a refusal.
    static func waiting(_ body: @escaping @Sendable () async throws -> Value) -> Self {
        .later {
            do {
                return .success(try await body())
            } catch {
                return .failure(FileSystemError(error))
            }
        }
    }

    /// Runs `body` as `waiting` does, for requests during which the kernel locks a folder or an inode. After `limit`
    /// they are answered with ETIMEDOUT, while `body` goes on.
    /// - Parameters:
    ///   - message: The sentence of that error.
    ///   - late: Receives a value that comes after the answer.
    static func waiting(
        atMost limit: Duration, or message: String, late: @escaping @Sendable (Value) -> Void = { _ in },
        _ body: @escaping @Sendable () async throws -> Value
    ) -> Self {
        .later {
            let work = Task { try await body() }
            switch await work.result(within: limit) {
            case .success(let value)?: return .success(value)
            case .failure(let error)?: return .failure(FileSystemError(error))
            case nil where Task.isCancelled:
                work.cancel()
                return .failure(FileSystemError(EINTR))
            case nil:
                Task { if let value = try? await work.value { late(value) } }
                return .failure(FileSystemError(ETIMEDOUT, message))
            }
        }
    }

    /// Transforms the result.
    func map<Other: Sendable>(
        _ transform: @escaping @Sendable (Value) -> Result<Other, FileSystemError>
    ) -> Answer<Other> {
        switch self {
        case .now(let result): .now(result.flatMap(transform))
        case .later(let work): .later { await work().flatMap(transform) }
        }
    }

    /// Runs `body`, which may block, before a refusal is delivered.
    func afterRefusal(_ body: @escaping @Sendable (FileSystemError) -> Void) -> Self {
        if case .now(.success) = self { return self }
        return .later {
            let result = await self.result()
            if case .failure(let error) = result { await ThreadPool.shared.run { body(error) } }
            return result
        }
    }

    /// Returns the result, waiting if necessary.
    public func result() async -> Result<Value, FileSystemError> {
        switch self {
        case .now(let result): result
        case .later(let work): await work()
        }
    }
}

/// The answer to a read. `later` fills the start of its buffer, which is at least as long as the first one.
public enum ReadAnswer: Sendable {
    case filled(Int)
    /// All bytes, outside the buffer.
    case ready(any ReadyBytes)
    case failed(FileSystemError)
    case later(@Sendable (ReadBuffer) async -> Result<Int, FileSystemError>)
}
