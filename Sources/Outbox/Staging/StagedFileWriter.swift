import Base
import ChatCore
import Cryptography
import Glibc
import Posix
import Synchronization

/// Writes the CryptoFile of a draft into its own folder in the core's staging folder, at once after the close
/// or in pieces while the draft is written (`EarlyCopy`).
///
/// Thread-safe, serialised by a mutex; all calls block.
final class StagedFileWriter: @unchecked Sendable {
    // Safe: mutable state is accessed only under `mutex`.
    private let staging: StagingFolder
    private let folderName: String
    private let folder: OpenFile
    private let file: OpenFile
    private let arguments: FileArguments
    private let mutex = BlockingMutex(rank: .stagedFile)
    private let writer: Writer
    private var isDiscarded = false
    private let progress = Atomic<UInt64>(0)

    /// The data directory must not show names for recipients. A core that needs the name adds a second one.
    private static let fileName = "content"
    private static let piece = 256 << 10

    private enum Writer {
        case content(CryptoFileWriter)
        case stream(StreamFileWriter, StreamForm)
    }

    /// - Parameter form: The form of the file; nil for the content alone.
    init(in staging: StagingFolder, form: StreamForm? = nil) throws {
        self.staging = staging
        (folderName, folder) = try staging.makeFolder()
        arguments = CryptoFile.freshArguments()
        do {
            file = try OpenFile(Self.fileName, flags: O_WRONLY | O_CREAT | O_EXCL, in: folder)
            if let form {
                writer = .stream(
                    try StreamFileWriter(file: file, arguments: arguments, header: form.header(0)), form)
            } else {
                writer = .content(try CryptoFileWriter(file: file, arguments: arguments))
            }
        } catch {
            staging.remove(folderName)
            throw error
        }
    }

    /// Number of bytes copied from the draft.
    var copied: UInt64 { progress.load(ordering: .acquiring) }

    /// Appends the bytes of `source` up to `end`, which must not change, while `isWanted` returns true.
    /// - Throws: `Outdated` if the copy is not wanted or was discarded.
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
                try append(UnsafeRawBufferPointer(rebasing: piece[..<count]))
                position += UInt64(count)
                progress.store(position, ordering: .releasing)
            }
        }
    }

    private func append(_ piece: UnsafeRawBufferPointer) throws {
        switch writer {
        case .content(let writer): try writer.append(piece)
        case .stream(let writer, _): try writer.append(piece)
        }
    }

    /// Starts writeback, so that the final fsync is short.
    func beginWritingBack() { file.beginWritingBack() }

    /// Writes the tag. The file is durable only after `synchronise`.
    func finish(kind: MessageContent.Kind) throws -> StagedFile {
        try mutex.withLock {
            guard !isDiscarded else { throw Outdated() }
            var arguments = arguments
            switch writer {
            case .content(let writer): try writer.finish()
            case .stream(let writer, let form):
                arguments.content = try writer.finish(
                    header: form.header(copied), length: form.length(copied))
            }
            return StagedFile(folder: folderName, fileName: Self.fileName, arguments: arguments, kind: kind)
        }
    }

    /// Makes bytes and name durable.
    func synchronise() throws(SystemError) {
        try file.synchronise()
        try folder.synchronise()
    }

    func synchroniseFilesystem() throws(SystemError) { try folder.synchroniseFilesystem() }

    /// Deletes the file. Waits for a running `append` of one piece.
    func discard() {
        mutex.withLock {
            isDiscarded = true
            staging.remove(folderName)
        }
    }

    /// A write, rename or removal occurred meanwhile.
    struct Outdated: Error {}
}
