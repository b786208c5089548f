import Base
import Cryptography
import Posix

/// The chunks of an upload. `produce` runs on one thread at a time, `produceAgain` on any.
protocol ChunkProduction: Sendable {
    /// The sizes of the chunks in bytes.
    var sizes: [UInt32] { get }

    /// Fills `buffer` with chunk `index`, which must be the next one.
    func produce(_ index: Int, into buffer: ChunkBuffer) throws(XFTPError)

    /// Fills `buffer` again with a produced chunk, except the last one.
    func produceAgain(_ index: Int, into buffer: ChunkBuffer) throws(XFTPError)
}

/// Encrypts the chunks of a file in order: header, content and padding sealed as one stream, the tag at the end of the
/// last chunk. `produce` runs on one thread at a time. `produceAgain` may run meanwhile on any thread.
final class ChunkProducer: ChunkProduction, @unchecked Sendable {
    // Safe: `FileUpload` produces one chunk after the other, and only `produce` changes state.
    let sizes: [UInt32]
    private let source: any UploadSource
    private let header: [UInt8]
    /// For random access. `box` follows the sequential position.
    private let keystream: StreamBox
    private var box: StreamBox
    private var position: UInt64 = 0

    /// - Parameter isSingle: Whether to use a single chunk of the smallest sufficient size.
    init(source: any UploadSource, state: UploadState, isSingle: Bool) throws(XFTPError) {
        self.source = source
        header = FileHeader.encode(name: state.fileName, contentSize: source.size)
        let fileSize = UInt64(header.count - 8) + source.size
        if isSingle {
            guard let size = ChunkPlan.singleSize(for: fileSize) else {
                throw XFTPError(.tooLarge, "The file description is too long for a chunk.")
            }
            sizes = [size]
        } else {
            sizes = ChunkPlan.sizes(for: fileSize)
        }
        do {
            keystream = try StreamBox(key: state.keyBytes, nonce: state.nonceBytes)
            box = keystream
        } catch {
            throw XFTPError(.wrongState, "The saved state of the upload has an invalid key.", cause: error)
        }
    }

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

    func produceAgain(_ index: Int, into buffer: ChunkBuffer) throws(XFTPError) {
        precondition(index < sizes.count - 1, "the last chunk cannot be produced again")
        buffer.count = Int(sizes[index])
        let start = sizes[..<index].reduce(0) { $0 + UInt64($1) }
        try inPieces(buffer.bytes, from: start) { (piece, start) throws(XFTPError) in
            try fillPlain(piece, at: start, reading: source.readAgain)
            keystream.transform(piece, at: start)
        }
    }

    /// Calls `body` with pieces that stay in the processor's cache between reading and sealing, and with their stream
    /// offsets.
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
                throw XFTPError(.source, "The file was truncated while it was being sent.")
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

/// The SHA-512 of the whole encrypted file, updated chunk by chunk while the next chunk is sealed.
final class FileDigest: @unchecked Sendable {
    // Safe: each update waits for the previous one, see `FileUpload`.
    private var digest = SHA512()

    func update(_ buffer: ChunkBuffer) { digest.update(UnsafeRawBufferPointer(buffer.bytes)) }
    func finalize() -> [UInt8] { digest.finalize() }
}
