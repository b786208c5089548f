import Base
import Cryptography
import Glibc
import Posix

/// Writes a ZIP file entry by entry, in pieces, without compression because the content is encrypted. Uses constant
/// memory except for the manifest. One thread. All calls block.
public final class ArchiveWriter {
    /// The condition of an added file.
    public enum Condition: Hashable, Sendable {
        case whole
        /// The content or its tag is wrong.
        case damaged
        /// The disk could not read all of it.
        case incomplete
    }

    private let library: ArchiveLibrary
    private let archive: ArchiveLibrary.Archive
    /// Kept open while the library writes to it.
    private let file: OpenFile
    private let created: Int64
    private var entries: [Manifest.Entry] = []

    private static let pieceLength = 1 << 20

    /// - Parameters:
    ///   - file: An empty file, open for writing.
    ///   - created: The time of all entries, in seconds since 1970.
    /// - Throws: `.noLibrary`, `.noSpace`, `.file`.
    public init(to file: OpenFile, created: Int64) throws(ArchiveError) {
        guard let library = ArchiveLibrary.shared, let archive = library.newWriter() else {
            throw .noLibrary
        }
        self.library = library
        self.archive = archive
        self.file = file
        self.created = created
        try checked(library.setZip(archive))
        try checked(library.setStore(archive))
        try checked(library.openToWrite(archive, file.descriptor))
    }

    deinit { _ = library.freeWriter(archive) }

    /// Adds a file with its digest. Unreadable parts become zeros: the rest may be useful, and the tag reveals the
    /// damage. The manifest marks damaged files.
    /// - Parameters:
    ///   - arguments: The arguments of a CryptoFile whose tag is checked, or nil for other files.
    ///   - isDamaged: Whether the caller found it damaged.
    ///   - progress: Receives the length of every piece in bytes. An error ends the archive.
    /// - Throws: `ArchiveError`: `.noSpace`, `.file`; the errors of `progress`. The archive is unusable then.
    @discardableResult
    public func add(
        _ source: OpenFile, as name: EntryName, arguments: FileArguments? = nil, isDamaged: Bool = false,
        progress: (UInt64) throws -> Void = { _ in }
    ) throws -> Condition {
        let size = try wrappingSystemError { () throws(SystemError) in try source.size() }
        try begin(name.text, size: size)
        var digest = SHA256()
        var tag = arguments.map { TagCheck($0, size: size) }
        var isWhole = true
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.pieceLength, alignment: 4096)
        defer { buffer.deallocate() }
        var position: UInt64 = 0
        while position < size {
            let piece = UnsafeMutableRawBufferPointer(
                rebasing: buffer[..<Int(min(UInt64(buffer.count), size - position))])
            if (try? source.read(into: piece, at: position)) != piece.count {
                piece.initializeMemory(as: UInt8.self, repeating: 0)
                isWhole = false
            }
            digest.update(UnsafeRawBufferPointer(piece))
            tag??.take(UnsafeRawBufferPointer(piece))
            try write(UnsafeRawBufferPointer(piece))
            position += UInt64(piece.count)
            try progress(UInt64(piece.count))
        }
        let isAuthentic = tag.map { $0?.isAuthentic == true } ?? !isDamaged
        entries.append(
            Manifest.Entry(
                name: name, size: size, digest: digest.finalize(), isDamaged: !isWhole || !isAuthentic))
        return !isWhole ? .incomplete : isAuthentic ? .whole : .damaged
    }

    /// Adds the manifest and its tag and completes the archive. Durable when it returns.
    /// - Parameter key: The key of the archive.
    /// - Throws: `.noSpace`, `.file`.
    public func finish(program: String, key: SecretBytes) throws(ArchiveError) {
        let manifest = Manifest(created: created, program: program, entries: entries).encoded
        let tag = Manifest.tag(of: BLAKE2b.hash(manifest), key: key).withUnsafeBytes {
            Hexadecimal.encode($0)
        }
        for (name, bytes) in [(Manifest.name, manifest), (Manifest.tagName, Array(tag.utf8))] {
            try begin(name, size: UInt64(bytes.count))
            var failure: ArchiveError?
            bytes.withUnsafeBytes { bytes in
                do throws(ArchiveError) { try write(bytes) } catch { failure = error }
            }
            if let failure { throw failure }
        }
        try checked(library.closeWriter(archive))
        try wrappingSystemError { () throws(SystemError) in try file.synchronise() }
    }

    private func begin(_ name: String, size: UInt64) throws(ArchiveError) {
        guard let entry = library.newEntry() else {
            throw ArchiveError(.noSpace, "Not enough memory for the archive.")
        }
        defer { library.freeEntry(entry) }
        library.setName(entry, name)
        library.setSize(entry, Int64(size))
        library.setType(entry, ArchiveLibrary.regularFile)
        library.setPermissions(entry, 0o600)
        library.setModified(entry, Int(created), 0)
        try checked(library.writeHeader(archive, entry))
    }

    private func write(_ bytes: UnsafeRawBufferPointer) throws(ArchiveError) {
        var written = 0
        while written < bytes.count, let start = bytes.baseAddress {
            let count = library.writeData(archive, start + written, bytes.count - written)
            guard count > 0 else { throw failure() }
            written += count
        }
    }

    private func checked(_ result: Int32) throws(ArchiveError) {
        if result < ArchiveLibrary.warning { throw failure() }
    }

    private func failure() -> ArchiveError {
        let code = library.errnoOf(archive)
        return ArchiveError(SystemError(code: code > 0 ? code : EIO, operation: "write the archive"))
    }
}
