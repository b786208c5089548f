import Base
import ChatCore
import Cryptography
import Glibc
import Posix

/// The CryptoFile of a draft while it is made, in a folder of its own in the core's staging folder: in one
/// go when the draft is closed, or piece by piece along with its writer (`EarlyCopy`).
///
/// Any thread, one after the other; all calls block.
final class StagedFileWriter: @unchecked Sendable {
    // Safe: what changes is touched only under `mutex`.
    private let staging: StagingFolder
    private let folderName: String
    private let folder: OpenFile
    private let file: OpenFile
    private let arguments: FileArguments
    private let mutex = BlockingMutex(rank: .stagedFile)
    private let writer: CryptoFileWriter
    private var isDiscarded = false
    private let progress = Lock<UInt64>(0)

    /// The data directory holds no name that the recipients see: a core that needs a name gives the file a second one.
    private static let fileName = "content"
    private static let piece = 256 << 10

    init(in staging: StagingFolder) throws {
        self.staging = staging
        (folderName, folder) = try staging.makeFolder()
        arguments = CryptoFile.freshArguments()
        do {
            file = try OpenFile(Self.fileName, flags: O_WRONLY | O_CREAT | O_EXCL, in: folder)
            writer = try CryptoFileWriter(file: file, arguments: arguments)
        } catch {
            staging.remove(folderName)
            throw error
        }
    }

    /// Bytes of the draft that are in it.
    var copied: UInt64 { progress.withLock { $0 } }

    /// Adds the bytes of `source` up to `end`, which must not change any more, as long as `isWanted` says so.
    /// - Throws: `Outdated` when it is not wanted, or was discarded.
    func append(from source: SealedFile, to end: UInt64, while isWanted: () -> Bool) throws {
        try mutex.withLock {
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.piece, alignment: 4096)
            defer { buffer.deallocate() }
            var position = copied
            while position < end {
                guard isWanted(), !isDiscarded else { throw Outdated() }
                let wanted = Int(min(UInt64(buffer.count), end - position))
                let piece = UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted])
                let count = try source.read(into: piece, at: position)
                guard count > 0 else { throw Outdated() }
                try writer.append(UnsafeRawBufferPointer(rebasing: piece[..<count]))
                position += UInt64(count)
                progress.withLock { $0 = position }
            }
        }
    }

    /// Has the disk begin with what is there, so that little is left to wait for at the end.
    func beginWritingBack() { file.beginWritingBack() }

    /// Writes the tag. The file is not durable before `synchronise`.
    func finish(kind: MessageContent.Kind) throws -> StagedFile {
        try mutex.withLock {
            guard !isDiscarded else { throw Outdated() }
            try writer.finish()
            return StagedFile(folder: folderName, fileName: Self.fileName, arguments: arguments, kind: kind)
        }
    }

    /// Waits for the disk: bytes and name.
    func synchronise() throws(SystemError) {
        try file.synchronise()
        try folder.synchronise()
    }

    func synchroniseFilesystem() throws(SystemError) { try folder.synchroniseFilesystem() }

    /// Removes it. Waits for a piece that is just being added.
    func discard() {
        mutex.withLock {
            isDiscarded = true
            staging.remove(folderName)
        }
    }

    /// A writer, a rename or a removal came in between.
    struct Outdated: Error {}
}
