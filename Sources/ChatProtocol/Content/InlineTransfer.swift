/// State of an inline file's transfer. Chunks come in order and have equal lengths except the last; an empty
/// file is one empty chunk.
public struct InlineTransfer: Hashable, Sendable {
    /// Size of the file in bytes.
    public let size: UInt64
    /// Number of received chunks.
    public private(set) var received: Int

    /// nil for too large a file, or an impossible number of chunks.
    public init?(size: UInt64, received: Int = 0) {
        guard size <= Self.largestOffered, received >= 0 else { return nil }
        self.size = size
        self.received = received
        guard received <= chunks else { return nil }
    }

    /// Largest requested file, in bytes.
    public static let largestOffered = UInt64(ProtocolLimits.inlineChunks * ProtocolLimits.inlineChunk)
    /// Largest unrequested file, in bytes.
    public static let largestUnasked = UInt64(ProtocolLimits.unaskedInlineChunks * ProtocolLimits.inlineChunk)

    /// Total number of chunks.
    public var chunks: Int {
        let chunk = UInt64(ProtocolLimits.inlineChunk)
        return max(1, Int((size + chunk - 1) / chunk))
    }

    /// Received bytes.
    public var bytes: UInt64 { min(size, UInt64(received * ProtocolLimits.inlineChunk)) }

    public var isComplete: Bool { received == chunks }

    public enum Outcome: Hashable, Sendable {
        /// A repetition.
        case known
        case grew
        /// The transfer cannot complete.
        case failed(Failure)
    }

    public enum Failure: Hashable, Sendable {
        /// A chunk is missing. Connections keep the order and lose messages only with their keys.
        case gap
        /// A chunk's length contradicts the file's size.
        case wrongLength
        /// The rest did not arrive, and its sender has started many others since.
        case overtaken
    }

    /// Processes the next chunk.
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
    /// Whether it is sent in messages, regardless of size.
    public var isInline: Bool { way == .offeredInline || way == .sentInline }

    /// Returns the initial transfer of an inline file; nil if it is too large.
    public var transfer: InlineTransfer? {
        switch way {
        case .offeredInline: InlineTransfer(size: size)
        case .sentInline: size <= InlineTransfer.largestUnasked ? InlineTransfer(size: size) : nil
        case .described, .unsupported: nil
        }
    }
}
