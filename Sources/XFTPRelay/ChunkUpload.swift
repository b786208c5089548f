import Base
import Cryptography
import Posix

/// Writes the bytes of one FPUT to disk and hashes them. Used by one thread.
final class ChunkUpload {
    let record: ChunkRecord
    let file: OpenFile
    /// The name in the folder of active uploads.
    let name: String
    private var hash = SHA256()
    private(set) var received: UInt64 = 0
    /// Collects small TLS records into larger writes.
    private let gathered: UploadBuffers.Buffer?
    private var waiting = 0
    /// The number of bytes after which writeback starts, so that the final flush is short.
    private static let portion: UInt64 = 1 << 20

    /// - Parameter buffer: The buffer for collecting writes, or nil to write each piece at once.
    init(record: ChunkRecord, file: OpenFile, name: String, buffer: UploadBuffers.Buffer?) {
        self.record = record
        self.file = file
        self.name = name
        gathered = buffer
    }

    /// Whether more bytes arrived than announced.
    var isTooLong: Bool { received > UInt64(record.size) }
    var isComplete: Bool { received == UInt64(record.size) }

    /// Writes the next bytes. Bytes beyond the announced size are only counted.
    func receive(_ bytes: UnsafeRawBufferPointer) throws(SystemError) {
        let wanted = min(UInt64(bytes.count), UInt64(record.size) - min(received, UInt64(record.size)))
        var rest = bytes[..<Int(wanted)]
        while !rest.isEmpty {
            guard let memory = gathered?.memory else {
                let piece = UnsafeRawBufferPointer(rebasing: rest)
                received += UInt64(piece.count)
                try write(piece)
                break
            }
            let count = min(rest.count, memory.count - waiting)
            let target = UnsafeMutableRawBufferPointer(rebasing: memory[waiting..<waiting + count])
            target.copyMemory(from: UnsafeRawBufferPointer(rebasing: rest.prefix(count)))
            waiting += count
            received += UInt64(count)
            rest = rest.dropFirst(count)
            if waiting == memory.count || isComplete {
                try write(UnsafeRawBufferPointer(rebasing: memory[..<waiting]))
                waiting = 0
            }
        }
        received += UInt64(bytes.count) - wanted
    }

    /// Writes a piece that ends at the received position.
    private func write(_ piece: UnsafeRawBufferPointer) throws(SystemError) {
        hash.update(piece)
        let start = received - UInt64(piece.count)
        try file.write(piece, at: start)
        if start / Self.portion != received / Self.portion { file.beginWritingBack() }
    }

    /// Whether the bytes of a complete upload match the announced digest.
    var isAuthentic: Bool { hash.finalize() == record.digest }
}
