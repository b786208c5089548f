import Base
import ChatCore
import Posix

/// The files of a core on another machine: they come and go over its transport. Any task.
public protocol RemoteFiles: Sendable {
    /// Writes a file of the core into `target`, which is empty, as a CryptoFile. Nothing of it may be used unless this
    /// returns.
    /// - Parameters:
    ///   - size: plaintext bytes that the message names.
    ///   - source: exactly as the core told it.
    ///   - progress: called as it comes.
    /// - Returns: the key of what was written.
    /// - Throws: as `OfficialTransport.request`; `.system` for the local file; `.refused` where the core's file is gone.
    func fetch(
        _ file: RemoteFile, size: UInt64, from source: APIFileSource, into target: OpenFile,
        progress: @escaping @Sendable () -> Void
    ) async throws(OfficialCoreError) -> FileArguments

    /// Stores a CryptoFile in the core's folder under `name`, which the core makes unique.
    /// - Parameter name: one path component.
    /// - Returns: the name that it got there, and its key where the core has it encrypted.
    /// - Throws: as `fetch`. The core may then have a file that no message names.
    func store(
        _ file: FileSourceLocation, size: UInt64, as name: String
    ) async throws(OfficialCoreError) -> FileSourceLocation
}

/// Which file of a profile.
public struct RemoteFile: Hashable, Sendable {
    public var user: Int64
    public var file: Int64
    /// Whether the profile's user sent it.
    public var isSent: Bool

    public init(user: Int64, file: Int64, isSent: Bool) {
        (self.user, self.file, self.isSent) = (user, file, isSent)
    }
}
