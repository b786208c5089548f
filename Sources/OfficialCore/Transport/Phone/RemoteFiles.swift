import Base
import ChatCore
import Posix

/// File transfer with a core on another machine. Any task.
public protocol RemoteFiles: Sendable {
    /// Writes a file of the core into the empty file `target` as a CryptoFile. If this throws, the content
    /// must not be used.
    /// - Parameters:
    ///   - size: Bytes of plaintext, from the message.
    ///   - source: Exactly as reported by the core.
    ///   - progress: Called as bytes arrive.
    /// - Returns: The key of the written file.
    /// - Throws: As `OfficialTransport.request`; `.system` for the local file; `.refused` if the core's file
    ///   is deleted.
    func fetch(
        _ file: RemoteFile, size: UInt64, from source: APIFileSource, into target: OpenFile,
        progress: @escaping @Sendable () -> Void
    ) async throws(OfficialCoreError) -> FileArguments

    /// Stores a CryptoFile in the core's folder under `name`, which the core makes unique.
    /// - Parameter name: One path component.
    /// - Returns: The unique name, and the key if the stored file is encrypted.
    /// - Throws: As `fetch`. The core may then have a file without a message.
    func store(
        _ file: FileSourceLocation, size: UInt64, as name: String
    ) async throws(OfficialCoreError) -> FileSourceLocation
}

/// A file of a profile.
public struct RemoteFile: Hashable, Sendable {
    public var user: Int64
    public var file: Int64
    /// True if the profile's user sent it.
    public var isSent: Bool
}
