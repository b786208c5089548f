import Base
import CLinux
import Cryptography
import Glibc
import Posix

enum NewDatabase {
    /// Returns the header and SQLite's first page, sealed.
    static func content(dataKey: SecretBytes) -> [UInt8] {
        let header = DatabaseHeader.random()
        let cipher = RecordCipher(key: header.recordKey(from: dataKey))
        let page = firstPage()
        var content = header.encoded(provenBy: dataKey) + page
        let record = FileLayout.database.record(at: 0)
        let done = content.withUnsafeMutableBytes { content in
            page.withUnsafeBytes { page in
                cipher.seal(
                    UnsafeRawBufferPointer(rebasing: page[..<record.contentLength]),
                    as: RecordPlace(kind: .page, number: record.number),
                    into: content.baseAddress! + Int(record.position))
            }
        }
        precondition(done, "OpenSSL failed to seal a page")
        return content
    }

    /// Returns the first page of an empty database in WAL mode (https://sqlite.org/fileformat2.html).
    static func firstPage() -> [UInt8] {
        var page = [UInt8](repeating: 0, count: FileLayout.pageSize)
        page.replaceSubrange(0..<16, with: Array("SQLite format 3".utf8) + [0])
        page[16] = UInt8(FileLayout.pageSize >> 8)
        // WAL for writing and reading; the reserved bytes; three fixed numbers.
        page.replaceSubrange(18..<24, with: [2, 2, UInt8(FileLayout.reservedLength), 64, 32, 32])
        // One page.
        page[31] = 1
        // The schema: an empty table leaf page.
        page[100] = 13
        let usable = FileLayout.pageSize - FileLayout.reservedLength
        page[105] = UInt8(usable >> 8)
        page[106] = UInt8(usable & 0xFF)
        return page
    }

    /// Creates the file. Returns false if the name exists.
    static func place(_ content: [UInt8], at path: String) throws(SystemError) -> Bool {
        let folder = path.parentPath
        let directory = try OpenFile(folder, flags: O_RDONLY | chatfs_o_directory)
        let temporary = "\(folder)/.chatfs-new-" + Hexadecimal.encode(SystemRandomSource().bytes(8))
        let unnamed = chatfs_open_unnamed(directory.descriptor)
        let file: OpenFile
        if unnamed >= 0 {
            file = OpenFile(adopting: unnamed)
        } else {
            // Filesystems without O_TMPFILE get a hidden name instead.
            file = try OpenFile(temporary, flags: O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
        }
        defer { if unnamed < 0 { unlink(temporary) } }
        try file.write(content, at: 0)
        try check("close a database to others") { fchmod(file.descriptor, 0o600) }
        try file.synchronise()
        let existing = unnamed >= 0 ? "/proc/self/fd/\(file.descriptor)" : temporary
        do throws(SystemError) {
            try check("give a database its name") {
                linkat(AT_FDCWD, existing, AT_FDCWD, path, unnamed >= 0 ? AT_SYMLINK_FOLLOW : 0)
            }
        } catch {
            guard error.code == EEXIST else { throw error }
            return false
        }
        try directory.synchronise()
        return true
    }
}
