/// Raw memory for one reader. Its owner keeps it alive until the reader has finished.
public struct ReadBuffer: @unchecked Sendable {
    // Safe: used by one task or thread at a time; the owner reads it only afterwards.
    public let bytes: UnsafeMutableRawBufferPointer
    public init(_ bytes: UnsafeMutableRawBufferPointer) { self.bytes = bytes }
}
