import Base
import Glibc
import Posix

/// Reads an untrusted ZIP file entry by entry, in pieces. One thread. All calls block.
final class ArchiveReader {
    private let library: ArchiveLibrary
    private let archive: ArchiveLibrary.Archive
    private let file: OpenFile

    private static let blockLength = 128 << 10

    /// - Throws: `.noLibrary`, `.malformed`, `.file`.
    init(_ file: OpenFile) throws(ArchiveError) {
        guard let library = ArchiveLibrary.shared, let archive = library.newReader() else {
            throw .noLibrary
        }
        self.library = library
        self.archive = archive
        self.file = file
        // The library continues at the descriptor's offset.
        lseek(file.descriptor, 0, SEEK_SET)
        guard library.supportZip(archive) >= ArchiveLibrary.warning,
            library.openToRead(archive, file.descriptor, Self.blockLength) >= ArchiveLibrary.warning
        else { throw failure() }
    }

    deinit { _ = library.freeReader(archive) }

    /// Moves to the next entry. Returns nil at the end.
    /// - Throws: `.malformed` for links, folders, devices, encrypted entries and invalid names.
    func next() throws(ArchiveError) -> EntryName? {
        var entry: ArchiveLibrary.Entry?
        let result = library.nextHeader(archive, &entry)
        if result == ArchiveLibrary.end { return nil }
        guard result >= ArchiveLibrary.warning, let entry else { throw failure() }
        guard library.typeOf(entry) == ArchiveLibrary.regularFile, library.isEncrypted(entry) == 0 else {
            throw .malformed("an entry is not a regular file")
        }
        guard let text = library.nameOf(entry), let name = EntryName(String(cString: text)) else {
            throw .malformed("an entry has an invalid name")
        }
        return name
    }

    /// Reads the next bytes of the entry. Returns 0 at its end.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws(ArchiveError) -> Int {
        guard let start = buffer.baseAddress else { return 0 }
        let count = library.readData(archive, start, buffer.count)
        guard count >= 0 else { throw failure() }
        return count
    }

    private func failure() -> ArchiveError {
        let code = library.errnoOf(archive)
        // The library also has its own error numbers; these are disk errors.
        if [EIO, EISDIR, EACCES, EPERM].contains(code) {
            return ArchiveError(SystemError(code: code, operation: "read the archive"))
        }
        return ArchiveError(
            .malformed, "The archive cannot be read: it is not a ZIP file, or it is damaged or truncated.")
    }
}
