import Base
import CLinux
import Cryptography
import Glibc
import Posix

/// Writes a plain file. Bytes go to a hidden part file in the same folder, named after the description, so that a later
/// attempt finds it. The final name appears when the file is complete.
public final class PlainFileDestination: DownloadDestination {
    /// Returns the final name for the header's name. `attempt` is 2, 3, … if earlier names exist; nil gives up.
    public typealias Naming = @Sendable (_ header: FileHeader, _ attempt: Int) -> String?

    private let folder: OpenFile
    private let part: OpenFile
    private let partName: String
    private let naming: Naming
    private let state = Lock<(header: FileHeader?, finalName: String?)>((nil, nil))

    /// - Parameter folder: The path of an existing folder.
    /// - Throws: `.storage` if the folder is not writable, or if the file is already being received into it.
    public init(folder: String, for description: FileDescription, naming: @escaping Naming) throws(XFTPError)
    {
        self.naming = naming
        // Hash the digest, which would otherwise tell relay operators which file this was.
        let mark = Hexadecimal.encode(SHA256.hash(Array("part".utf8) + description.digest).prefix(8))
        partName = ".chatfs-\(mark).part"
        do {
            self.folder = try OpenFile(folder, flags: O_RDONLY | chatfs_o_directory)
            part = try OpenFile(partName, flags: O_RDWR | O_CREAT | chatfs_o_nofollow, in: self.folder)
            guard try part.tryLock(named: partName, in: self.folder) else {
                throw XFTPError(.storage, "The same file is already being received into this folder.")
            }
        } catch let error as XFTPError {
            throw error
        } catch {
            throw XFTPError(
                .storage, "The file cannot be written into this folder: \(sentence(of: error))", cause: error)
        }
    }

    /// The final name, after the download.
    public var finalName: String? { state.withLock { $0.finalName } }

    public func bytesPresent() throws(SystemError) -> UInt64 { try part.size() }

    /// - Throws: ENOSPC.
    public func begin(_ header: FileHeader) throws(SystemError) {
        state.withLock { $0.header = header }
        // Reserve space now to detect a full disk before a long download. The length stays the number of written bytes,
        // which marks the progress. Filesystems that cannot reserve space ignore this.
        try part.reserve(0..<header.contentSize)
    }

    public func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64
    ) throws(SystemError) -> Int {
        try part.read(into: buffer, at: offset)
    }

    public func write(_ bytes: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(SystemError) {
        try part.write(UnsafeRawBufferPointer(bytes), at: offset)
        // Start writeback early, so that the final flush is short.
        part.beginWritingBack()
    }

    /// - Throws: EEXIST if `naming` gives up; other disk errors.
    public func finish(size: UInt64) throws(SystemError) {
        try part.truncate(to: size)
        try part.synchronise()
        guard let header = state.withLock({ $0.header }) else { return }
        for attempt in 1... {
            guard let name = naming(header, attempt) else {
                throw SystemError(code: EEXIST, operation: "give the file its name")
            }
            if rename(to: name) {
                state.withLock { $0.finalName = name }
                return try folder.synchronise()
            }
            guard errno == EEXIST else {
                throw SystemError(code: errno, operation: "give the file its name")
            }
        }
    }

    /// Renames without replacing a file. Filesystems without that operation (EINVAL) use a second link and unlink.
    private func rename(to name: String) -> Bool {
        let directory = folder.descriptor
        if chatfs_rename_without_replacing(directory, partName, directory, name) == 0 { return true }
        guard errno == EINVAL || errno == ENOSYS else { return false }
        guard linkat(directory, partName, directory, name, 0) == 0 else { return false }
        unlinkat(directory, partName, 0)
        return true
    }

    /// Deletes the part file.
    public func discard() { unlinkat(folder.descriptor, partName, 0) }
}
