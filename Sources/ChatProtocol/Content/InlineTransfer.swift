/// A small file that comes within messages, as far as it is here. Its chunks come in their order; all but the last have
/// the same length, and an empty file is one empty chunk.
public struct InlineTransfer: Hashable, Sendable {
    /// Bytes of the whole file.
    public let size: UInt64
    /// Chunks that are here, from the first on.
    public private(set) var received: Int

    /// nil of a file that has more chunks than can be offered, or fewer than were received.
    public init?(size: UInt64, received: Int = 0) {
        guard size <= Self.largestOffered, received >= 0 else { return nil }
        self.size = size
        self.received = received
        guard received <= chunks else { return nil }
    }

    /// Largest file that is sent when it is asked for, in bytes.
    public static let largestOffered = UInt64(ProtocolLimits.inlineChunks * ProtocolLimits.inlineChunk)
    /// Largest that is taken without having been asked for.
    public static let largestUnasked = UInt64(ProtocolLimits.unaskedInlineChunks * ProtocolLimits.inlineChunk)

    /// How many there will be.
    public var chunks: Int {
        let chunk = UInt64(ProtocolLimits.inlineChunk)
        return max(1, Int((size + chunk - 1) / chunk))
    }

    /// Of the file that are here.
    public var bytes: UInt64 { min(size, UInt64(received * ProtocolLimits.inlineChunk)) }

    public var isComplete: Bool { received == chunks }

    public enum Outcome: Hashable, Sendable {
        /// It came again.
        case known
        case grew
        /// Nothing more can come of it.
        case failed(Failure)
    }

    public enum Failure: Hashable, Sendable {
        /// A chunk is missing: connections keep the order and lose nothing but with their keys.
        case gap
        /// A chunk is longer or shorter than the size of the file allows.
        case wrongLength
        /// The rest did not come, and its author has begun many others since.
        case overtaken
    }

    /// Takes the next chunk.
    public mutating func take(_ chunk: InlineChunk) -> Outcome {
        let number = Int(chunk.number)
        guard number > received else { return .known }
        guard number == received + 1, number <= chunks else { return .failed(.gap) }
        let rest = size - UInt64(received * ProtocolLimits.inlineChunk)
        guard UInt64(chunk.bytes.count) == min(rest, UInt64(ProtocolLimits.inlineChunk)) else {
            return .failed(.wrongLength)
        }
        received = number
        return .grew
    }
}

extension FileInvitation {
    /// Whether it comes within messages, whatever its size.
    public var isInline: Bool { way == .offeredInline || way == .sentInline }

    /// Of one that comes within messages: before its first chunk. nil where it is too large for that.
    public var transfer: InlineTransfer? {
        switch way {
        case .offeredInline: InlineTransfer(size: size)
        case .sentInline: size <= InlineTransfer.largestUnasked ? InlineTransfer(size: size) : nil
        case .described, .unsupported: nil
        }
    }
}
