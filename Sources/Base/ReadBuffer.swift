/// Raw memory that one reader fills. Its owner keeps it alive until the reader has answered.
public struct ReadBuffer: @unchecked Sendable {
    // Safe: handed to one task or thread at a time; the owner reads it only after that has answered.
    public let bytes: UnsafeMutableRawBufferPointer
    public init(_ bytes: UnsafeMutableRawBufferPointer) { self.bytes = bytes }
}
