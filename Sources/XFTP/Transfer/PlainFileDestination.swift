import Base
import CLinux
import Cryptography
import Glibc
import Posix

/// A plain file. Its bytes gather in a hidden part file of the same folder, named after the download,
/// so that the same download finds it again; the final name appears when everything is right.
public final class PlainFileDestination: DownloadDestination {
    /// Answers the final name for the name in the header, and when that is taken (`attempt` 2, 3, …)
    /// another one, or nil to give up.
    public typealias Naming = @Sendable (_ header: FileHeader, _ attempt: Int) -> String?

    private let folder: OpenFile
    private let part: OpenFile
    private let partName: String
    private let naming: Naming
    private let state = Lock<(header: FileHeader?, finalName: String?)>((nil, nil))

    /// - Parameter folder: path of an existing folder.
    /// - Throws: `.storage` when the folder cannot be written to, or the same file is being received into it
    ///   already.
    public init(folder: String, for description: FileDescription, naming: @escaping Naming) throws(XFTPError)
    {
        self.naming = naming
        // A hash, because the digest itself would tell relays' owners which file this was.
        let mark = Hexadecimal.encode(SHA256.hash(Array("part".utf8) + description.digest).prefix(8))
        partName = ".chatfs-\(mark).part"
        do {
            self.folder = try OpenFile(folder, flags: O_RDONLY | chatfs_o_directory)
            part = try OpenFile(partName, flags: O_RDWR | O_CREAT | chatfs_o_nofollow, in: self.folder)
            guard try part.tryLock() else {
                throw XFTPError(.storage, "The same file is being received into this folder already.")
            }
        } catch let error as XFTPError {
            throw error
        } catch {
            throw XFTPError(
                .storage, "The file cannot be written into this folder: \(sentence(of: error))", cause: error)
        }
    }

    /// The name under which the file appeared, after the download.
    public var finalName: String? { state.withLock { $0.finalName } }

    public func bytesPresent() throws(SystemError) -> UInt64 { try part.size() }

    /// - Throws: ENOSPC.
    public func begin(_ header: FileHeader) throws(SystemError) {
        state.withLock { $0.header = header }
        // Space is reserved at once: a full disk is known before hours of download. Length stays what was
        // written, it is the mark of progress. Filesystems without this call take it as it comes.
        try part.reserve(0..<header.contentSize)
    }

    public func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64
    ) throws(SystemError) -> Int {
        try part.read(into: buffer, at: offset)
    }

    public func write(_ bytes: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(SystemError) {
        try part.write(UnsafeRawBufferPointer(bytes), at: offset)
        // So that the flush at the end has little left to do.
        part.beginWritingBack()
    }

    /// - Throws: EEXIST when there is no other name to try; what the disk refuses.
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

    /// Never replaces a file. Where the filesystem cannot rename that way (EINVAL), a second name and
    /// the removal of the first do the same.
    private func rename(to name: String) -> Bool {
        let directory = folder.descriptor
        if chatfs_rename_without_replacing(directory, partName, directory, name) == 0 { return true }
        guard errno == EINVAL || errno == ENOSYS else { return false }
        guard linkat(directory, partName, directory, name, 0) == 0 else { return false }
        unlinkat(directory, partName, 0)
        return true
    }

    /// Removes the part file: nothing of it will be wanted.
    public func discard() { unlinkat(folder.descriptor, partName, 0) }
}
