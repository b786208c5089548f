import Base
import Cryptography
import Posix

/// Makes the encrypted chunks of a file in order: header, content, padding, sealed as one stream,
/// the tag at the end of the last. Chunks are made in order, from one thread at a time; those that were made can be
/// made again meanwhile, from any thread.
final class ChunkProducer: @unchecked Sendable {
    // Safe: `FileUpload` asks for one chunk after the other, each from one pool thread, and they alone touch what
    // changes.
    let sizes: [UInt32]
    private let source: any UploadSource
    private let header: [UInt8]
    /// For positions without order; the other one is as far as the file was made.
    private let keystream: StreamBox
    private var box: StreamBox
    private var position: UInt64 = 0

    /// - Parameter isSingle: one chunk only, the smallest that holds the file.
    init(source: any UploadSource, state: UploadState, isSingle: Bool) throws(XFTPError) {
        self.source = source
        header = FileHeader.encode(name: state.fileName, contentSize: source.size)
        let fileSize = UInt64(header.count - 8) + source.size
        if isSingle {
            guard let size = ChunkPlan.singleSize(for: fileSize) else {
                throw XFTPError(.tooLarge, "The file has so many chunks that its description fits into none.")
            }
            sizes = [size]
        } else {
            sizes = ChunkPlan.sizes(for: fileSize)
        }
        do {
            keystream = try StreamBox(key: state.keyBytes, nonce: state.nonceBytes)
            box = keystream
        } catch {
            throw XFTPError(.wrongState, "The state of the upload has no proper key.", cause: error)
        }
    }

    /// Fills `buffer` with chunk `index`, which must be the next.
    func produce(_ index: Int, into buffer: ChunkBuffer) throws(XFTPError) {
        buffer.count = Int(sizes[index])
        let end = position + UInt64(buffer.count)
        let isLast = index == sizes.count - 1
        let plain = isLast ? buffer.count - StreamBox.tagLength : buffer.count
        let target = UnsafeMutableRawBufferPointer(rebasing: buffer.bytes[..<plain])
        try inPieces(target, from: position) { (piece, start) throws(XFTPError) in
            try fillPlain(piece, at: start, reading: source.read)
            box.seal(piece)
        }
        if isLast {
            buffer.bytes[plain...].copyBytes(from: box.tag())
            try reading { try source.confirm() }
        }
        position = end
    }

    /// Fills `buffer` with a chunk that was made before and is not the last one, whose end is the tag.
    func produceAgain(_ index: Int, into buffer: ChunkBuffer) throws(XFTPError) {
        precondition(index < sizes.count - 1, "the tag of the whole is made once")
        buffer.count = Int(sizes[index])
        let start = sizes[..<index].reduce(0) { $0 + UInt64($1) }
        try inPieces(buffer.bytes, from: start) { (piece, start) throws(XFTPError) in
            try fillPlain(piece, at: start, reading: source.readAgain)
            keystream.transform(piece, at: start)
        }
    }

    /// Pieces that stay in the processor's cache between reading and sealing, each with its place in the stream.
    private func inPieces(
        _ target: UnsafeMutableRawBufferPointer, from start: UInt64,
        _ body: (UnsafeMutableRawBufferPointer, UInt64) throws(XFTPError) -> Void
    ) throws(XFTPError) {
        var filled = 0
        while filled < target.count {
            let count = min(256 << 10, target.count - filled)
            let piece = UnsafeMutableRawBufferPointer(rebasing: target[filled..<filled + count])
            try body(piece, start + UInt64(filled))
            filled += count
        }
    }

    private func fillPlain(
        _ slice: UnsafeMutableRawBufferPointer, at start: UInt64,
        reading read: (UnsafeMutableRawBufferPointer, UInt64) throws -> Int
    ) throws(XFTPError) {
        let contentStart = UInt64(header.count)
        var filled = 0
        if start < contentStart {
            let from = Int(start)
            filled = min(header.count - from, slice.count)
            slice[..<filled].copyBytes(from: header[from..<from + filled])
        }
        let offset = start + UInt64(filled) - contentStart
        if filled < slice.count, offset < source.size {
            let count = Int(min(UInt64(slice.count - filled), source.size - offset))
            let part = UnsafeMutableRawBufferPointer(rebasing: slice[filled..<filled + count])
            guard try reading({ try read(part, offset) }) == count else {
                throw XFTPError(.source, "The file became shorter while it was being sent.")
            }
            filled += count
        }
        for index in filled..<slice.count { slice[index] = UInt8(ascii: "#") }
    }

    private func reading<Result>(_ body: () throws -> Result) throws(XFTPError) -> Result {
        do {
            return try body()
        } catch {
            throw XFTPError(.source, "The file could not be read: \(sentence(of: error))", cause: error)
        }
    }
}

/// SHA-512 of the whole encrypted file, chunk after chunk. Runs beside the sealing of the next chunk.
final class FileDigest: @unchecked Sendable {
    // Safe: each update waits for the one before it, see `FileUpload`.
    private var digest = SHA512()

    func update(_ buffer: ChunkBuffer) { digest.update(UnsafeRawBufferPointer(buffer.bytes)) }
    func finalize() -> [UInt8] { digest.finalize() }
}
