import Base
import Cryptography
import Glibc
import Posix

/// The sealed bytes of a draft in the spool, for verification, also while another process has the outbox open
/// and writes. All calls block.
public struct SpooledFile: Sendable {
    /// Name in the spool. The file for new block versions has the suffix `.second`.
    public let name: String
    /// Bytes of plaintext.
    public let size: UInt64
    private let key: [UInt8]

    private static let attempts = 3

    init(_ record: DraftRecord) {
        (name, size, key) = (record.spool, record.size, record.key)
    }

    /// Reads and authenticates every block.
    /// - Parameters:
    ///   - folder: The spool, or a folder with links to its files. Absolute.
    ///   - read: Called with the number of bytes of each piece.
    /// - Throws: `.notAuthentic` for a changed block, `.tooShort`, `.file`.
    public func examine(in folder: String, read: (UInt64) -> Void) throws(CryptographyError) {
        for attempt in 1...Self.attempts {
            do throws(CryptographyError) {
                return try examineOnce(in: folder, read: read)
            } catch {
                // A writer may have changed the block just now.
                guard error.code == .notAuthentic, attempt < Self.attempts else { throw error }
            }
        }
    }

    private func examineOnce(in folder: String, read: (UInt64) -> Void) throws(CryptographyError) {
        let path = "\(folder)/\(name)"
        let sealed = try SealedFile(
            file: Self.open(path), key: key, fileID: Array(name.utf8), second: Self.existing(path + ".second")
        )
        guard sealed.size >= size else {
            throw CryptographyError(.tooShort, "It has \(sealed.size) bytes of \(size).")
        }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 4096)
        defer { buffer.deallocate() }
        var position: UInt64 = 0
        while position < sealed.size {
            let count = try sealed.read(into: buffer, at: position)
            if count == 0 { return }
            position += UInt64(count)
            read(UInt64(count))
        }
    }

    private static func open(_ path: String) throws(CryptographyError) -> OpenFile {
        do throws(SystemError) {
            return try OpenFile(path, flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
        } catch {
            throw CryptographyError(error)
        }
    }

    private static func existing(_ path: String) throws(CryptographyError) -> OpenFile? {
        do throws(SystemError) {
            return try OpenFile.existing(path, flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
        } catch {
            throw CryptographyError(error)
        }
    }
}
