import Base
import Glibc
import Posix

/// Writes a ZIP of plain files and folders as one stream: fast deflate, lengths after the content, so that programs
/// that read archives from the start can extract it. Zip64 if needed. Uses constant memory. One thread. All calls
/// block.
public final class FolderZip {
    private let library: ArchiveLibrary
    private let archive: ArchiveLibrary.Archive
    private let output: Output
    private let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 18, alignment: 4096)

    /// The output for libarchive's callback. Its first error ends the archive.
    private final class Output {
        let write: (UnsafeRawBufferPointer) throws -> Void
        var failure: (any Error)?

        init(_ write: @escaping (UnsafeRawBufferPointer) throws -> Void) { self.write = write }
    }

    /// AE_IFDIR.
    private static let folder: UInt32 = 0o040000

    /// Whether libarchive is installed. The first call loads it.
    public static var isAvailable: Bool { ArchiveLibrary.shared != nil }

    /// - Parameter write: Receives the archive in order.
    /// - Throws: `.noLibrary`, `.noSpace`.
    public init(write: @escaping (UnsafeRawBufferPointer) throws -> Void) throws(ArchiveError) {
        guard let library = ArchiveLibrary.shared, let archive = library.newWriter() else { throw .noLibrary }
        self.library = library
        self.archive = archive
        output = Output(write)
        let settings = [
            library.setZip(archive), library.setOptions(archive, "zip:compression-level=1"),
            library.setBlockLength(archive, 1 << 20), library.setLastBlockLength(archive, 1),
            library.openToWriteBy(
                archive, Unmanaged.passUnretained(output).toOpaque(), nil,
                { _, output, bytes, count in
                    guard let output, let bytes else { return -1 }
                    let target = Unmanaged<Output>.fromOpaque(output).takeUnretainedValue()
                    guard target.failure == nil else { return -1 }
                    do {
                        try target.write(UnsafeRawBufferPointer(start: bytes, count: count))
                        return count
                    } catch {
                        target.failure = error
                        return -1
                    }
                }, nil),
        ]
        guard settings.allSatisfy({ $0 >= ArchiveLibrary.warning }) else {
            throw ArchiveError(.file, "libarchive failed to start a ZIP file.")
        }
    }

    deinit {
        // Discard the rest of the buffer.
        output.failure = output.failure ?? CancellationError()
        _ = library.freeWriter(archive)
        piece.deallocate()
    }

    /// Adds a folder.
    /// - Parameter path: Names separated by `/`, in UTF-8.
    /// - Throws: The errors of the output; `ArchiveError`.
    public func add(folder path: [UInt8], modified: Timestamp) throws {
        try begin(path, type: Self.folder, permissions: 0o755, size: 0, modified)
    }

    /// Adds a file.
    /// - Parameter read: Fills a buffer from an offset on. Returns fewer bytes only at the end.
    /// - Throws: The errors of `read` and of the output; `ArchiveError`, also if the file ends before its size.
    public func add(
        file path: [UInt8], size: UInt64, modified: Timestamp,
        read: (UnsafeMutableRawBufferPointer, UInt64) throws -> Int
    ) throws {
        try begin(path, type: ArchiveLibrary.regularFile, permissions: 0o644, size: size, modified)
        var position: UInt64 = 0
        while position < size {
            let wanted = UnsafeMutableRawBufferPointer(
                rebasing: piece[..<Int(min(UInt64(piece.count), size - position))])
            guard try read(wanted, position) == wanted.count else {
                throw ArchiveError(.file, "A file was truncated while it was archived.")
            }
            try write(UnsafeRawBufferPointer(wanted))
            position += UInt64(wanted.count)
        }
    }

    /// Writes the end of the archive.
    /// - Throws: The errors of `add`.
    public func finish() throws { try checked(library.closeWriter(archive)) }

    private func begin(
        _ path: [UInt8], type: UInt32, permissions: UInt32, size: UInt64, _ modified: Timestamp
    ) throws {
        guard let entry = library.newEntry() else {
            throw ArchiveError(.noSpace, "Not enough memory for the archive.")
        }
        defer { library.freeEntry(entry) }
        // The library marks names as UTF-8 only if the thread's locale is UTF-8.
        let utf8 = newlocale(1 << LC_CTYPE, "C.UTF-8", nil)
        let before = utf8.map { uselocale($0) }
        defer {
            if let before { uselocale(before) }
            if let utf8 { freelocale(utf8) }
        }
        (path + [0]).withUnsafeBytes { name in
            name.withMemoryRebound(to: CChar.self) { name in
                if let name = name.baseAddress { library.setName(entry, name) }
            }
        }
        library.setSize(entry, Int64(clamping: size))
        library.setType(entry, type)
        library.setPermissions(entry, permissions)
        library.setModified(entry, Int(modified.seconds), 0)
        try checked(library.writeHeader(archive, entry))
    }

    private func write(_ bytes: UnsafeRawBufferPointer) throws {
        var written = 0
        while written < bytes.count, let start = bytes.baseAddress {
            let count = library.writeData(archive, start + written, bytes.count - written)
            guard count > 0 else { throw failure() }
            written += count
        }
    }

    private func checked(_ result: Int32) throws {
        if result < ArchiveLibrary.warning || output.failure != nil { throw failure() }
    }

    private func failure() -> any Error {
        if let failure = output.failure { return failure }
        let code = library.errnoOf(archive)
        return ArchiveError(SystemError(code: code > 0 ? code : EIO, operation: "write the archive"))
    }
}
