import Base
import ChatCore
import Cryptography
import Glibc
import Posix
import XFTP

/// The last step of a download: the whole stream passes the check of the file as a whole and becomes a
/// CryptoFile with a key of its own, in one pass and with constant memory.
struct Completion: Sendable {
    let stream: CachedStream
    let source: any ChunkSource
    let contentSize: UInt64

    /// Writes a durable CryptoFile, or throws and leaves none. Blocks for as long as the disk needs.
    func write(to path: String) throws -> FileArguments {
        let arguments = CryptoFile.freshArguments()
        do {
            let file = try OpenFile(path, flags: O_RDWR | O_CREAT | O_EXCL)
            let writer = try CryptoFileWriter(file: file, arguments: arguments)
            try pass(into: writer)
            try writer.finish()
            try file.synchronise()
        } catch {
            unlink(path)
            throw error
        }
        return arguments
    }

    /// Checks the stream as a whole and writes nothing. Blocks.
    func check() throws { try pass(into: nil) }

    private func pass(into writer: CryptoFileWriter?) throws {
        var check = try source.wholeCheck()
        let streamSize = source.chunks.reduce(0 as UInt64) { $0 + UInt64($1.size) }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 4096)
        defer { buffer.deallocate() }
        var content: Range<UInt64>?
        var position: UInt64 = 0
        while position < streamSize {
            let count = Int(min(UInt64(buffer.count), streamSize - position))
            let piece = UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
            guard try stream.read(into: piece, at: position) else {
                throw CryptographyError(.library, "A block of the cache could not be read back.")
            }
            if content == nil {
                guard
                    let header = FileHeader(
                        stream: Array(piece.prefix(FileHeader.longest)), streamSize: streamSize),
                    header.contentSize == contentSize
                else { throw HydrationError(.damaged, FileProblem.wrongLength.sentence) }
                content = header.contentOffset..<header.contentOffset + contentSize
            }
            if let part = content?.clamped(to: position..<position + UInt64(count)), !part.isEmpty {
                let start = Int(part.lowerBound - position)
                try writer?.append(UnsafeRawBufferPointer(rebasing: piece[start..<start + part.count]))
            }
            try check.add(piece)
            position += UInt64(count)
        }
        try check.finish()
    }
}
