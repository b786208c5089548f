import Base

/// A file to send.
public enum UploadContent: Sendable {
    /// A plaintext, encrypted with a fresh key.
    case plaintext(any UploadSource)
    /// A file that is encrypted already.
    case stream(StoredStream)

    /// The size of the plaintext in bytes.
    var size: UInt64 {
        switch self {
        case .plaintext(let source): source.size
        case .stream(let stream): stream.content.upperBound - stream.content.lowerBound
        }
    }

    /// The key of a file that is encrypted already.
    var arguments: FileArguments? { if case .stream(let stream) = self { stream.arguments } else { nil } }

    /// - Parameter isSingle: Whether a plaintext gets a single chunk of the smallest sufficient size.
    func chunks(_ state: UploadState, isSingle: Bool) throws(XFTPError) -> any ChunkProduction {
        switch self {
        case .plaintext(let source): try ChunkProducer(source: source, state: state, isSingle: isSingle)
        case .stream(let stream): try StreamChunks(stream)
        }
    }
}
