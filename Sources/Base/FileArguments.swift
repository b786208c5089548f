/// The key (32 bytes) and nonce (24 bytes) of a CryptoFile. Secret: never printed, never logged.
public struct FileArguments: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    public var key: [UInt8]
    public var nonce: [UInt8]

    public init(key: [UInt8], nonce: [UInt8]) {
        self.key = key
        self.nonce = nonce
    }

    public var description: String { "FileArguments(…)" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
