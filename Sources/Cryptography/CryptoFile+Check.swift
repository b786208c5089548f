import Base
import Glibc
import Posix

/// Checks of a whole CryptoFile that decrypt nothing. They block.
extension CryptoFile {
    /// Reads a file back that was just written.
    /// - Throws: `.notAuthentic` if the disk returns other bytes or EIO; `.file` for other read errors.
    public static func confirm(
        _ file: OpenFile, _ arguments: FileArguments
    ) throws(CryptographyError) {
        let size = try wrappingSystemError { () throws(SystemError) in try file.size() }
        let isKept = try isAuthentic(size: size, arguments) { (buffer, offset) throws(SystemError) in
            try file.read(into: buffer, at: offset)
        }
        guard isKept else { throw .notKept }
    }

    /// Reads a whole CryptoFile of `size` bytes and returns whether its tag is right. False also if it is shorter or
    /// cannot be read (EIO).
    /// - Parameter read: Reads from it like `OpenFile.read`.
    /// - Throws: `.file`; `.invalidKey` for arguments of wrong lengths.
    public static func isAuthentic(
        size: UInt64, _ arguments: FileArguments,
        read: (UnsafeMutableRawBufferPointer, UInt64) throws(SystemError) -> Int
    ) throws(CryptographyError) -> Bool {
        guard size >= UInt64(StreamBox.tagLength) else { return false }
        let end = size - UInt64(StreamBox.tagLength)
        var box = try StreamBox(key: arguments.key, nonce: arguments.nonce)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 4096)
        defer { buffer.deallocate() }
        do throws(SystemError) {
            while box.position < end {
                let count = Int(min(UInt64(buffer.count), end - box.position))
                let piece = UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
                guard try read(piece, box.position) == count else { return false }
                box.authenticate(UnsafeRawBufferPointer(piece))
            }
            let tag = UnsafeMutableRawBufferPointer(rebasing: buffer[..<StreamBox.tagLength])
            return try read(tag, end) == tag.count && box.isAuthentic(Array(tag))
        } catch {
            if error.code == EIO { return false }
            throw CryptographyError(error)
        }
    }
}
