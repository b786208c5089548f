import Base

/// A body in memory.
public final class BytesBody: BodySource {
    private let bytes: [UInt8]
    private let position = Lock(0)

    public init(_ bytes: [UInt8]) { self.bytes = bytes }

    public var length: Int { bytes.count }

    public func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        position.withLock { position in
            let count = min(buffer.count, bytes.count - position)
            bytes.withUnsafeBytes { source in
                buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: source[position..<position + count]))
            }
            position += count
            return count
        }
    }
}

/// Concatenates bodies, for example a block and its chunk.
public final class JoinedBody: BodySource {
    private let parts: [any BodySource]
    private let state = Lock((part: 0, given: 0))
    public let length: Int

    public init(_ parts: [any BodySource]) {
        self.parts = parts.filter { $0.length > 0 }
        length = parts.reduce(0) { $0 + $1.length }
    }

    public func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        let (part, given) = state.withLock { $0 }
        guard part < parts.count else { return 0 }
        let limit = min(buffer.count, parts[part].length - given)
        let count = try parts[part].read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<limit]))
        state.withLock {
            $0.given += count
            if $0.given >= parts[part].length { $0 = (part + 1, 0) }
        }
        return count
    }
}

/// Collects a body in memory, up to a limit.
public final class CollectedBody: BodySink {
    private let limit: Int
    private let collected = Lock<[UInt8]>([])

    /// More than `limit` bytes fail the request.
    public init(limit: Int) { self.limit = limit }

    /// The bytes so far; after `send` returned, the whole body.
    public var bytes: [UInt8] { collected.withLock { $0 } }

    /// - Throws: `.protocolViolation` for more than the limit.
    public func receive(_ bytes: UnsafeRawBufferPointer) throws(NetworkError) {
        try collected.withLock { collected throws(NetworkError) in
            guard bytes.count <= limit - collected.count else {
                throw NetworkError(.protocolViolation, "The answer is longer than \(limit) bytes.")
            }
            collected.append(contentsOf: bytes)
        }
    }
}
