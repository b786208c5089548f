import Base

/// A body in memory.
public final class BytesBody: BodySource {
    private let bytes: [UInt8]

    public init(_ bytes: [UInt8]) { self.bytes = bytes }

    public var length: Int { bytes.count }

    public func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> Int {
        let count = min(buffer.count, bytes.count - offset)
        bytes.withUnsafeBytes { source in
            buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: source[offset..<offset + count]))
        }
        return count
    }
}

/// Concatenates bodies, for example a block and its chunk.
public final class JoinedBody: BodySource {
    private let parts: [any BodySource]
    public let length: Int

    public init(_ parts: [any BodySource]) {
        self.parts = parts.filter { $0.length > 0 }
        length = parts.reduce(0) { $0 + $1.length }
    }

    public func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws -> Int {
        var start = 0
        for part in parts {
            let end = start + part.length
            if offset < end {
                let limit = min(buffer.count, end - offset)
                return try part.read(
                    into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<limit]), at: offset - start)
            }
            start = end
        }
        return 0
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
