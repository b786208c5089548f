/// Key (32 bytes) and nonce (24 bytes) of a CryptoFile, and where its content lies. A secret: never printed, never
/// logged.
public struct FileArguments: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    public var key: [UInt8]
    public var nonce: [UInt8]
    /// The part of the plaintext that is the content, in bytes. nil: all of it. A file kept as XFTP transferred it has
    /// a header before its content and padding after it.
    public var content: Range<UInt64>?

    public init(key: [UInt8], nonce: [UInt8], content: Range<UInt64>? = nil) {
        self.key = key
        self.nonce = nonce
        self.content = content
    }

    public var description: String { "FileArguments(…)" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
