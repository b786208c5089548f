import Base
import Cryptography
import Posix

/// The bytes of one FPUT on their way to disk, hashed as they pass. Belongs to one thread.
final class ChunkUpload {
    let record: ChunkRecord
    let file: OpenFile
    /// In the folder of uploads under way.
    let name: String
    private var hash = SHA256()
    private(set) var received: UInt64 = 0
    /// Bytes that wait to be written together: a record of TLS is small, a system call is not.
    private let gathered: UploadBuffers.Buffer?
    private var waiting = 0
    /// Bytes after which the disk is told to begin writing, so that it has little left at the end.
    private static let portion: UInt64 = 1 << 20

    /// Without a buffer every piece is written as it comes.
    init(record: ChunkRecord, file: OpenFile, name: String, buffer: UploadBuffers.Buffer?) {
        self.record = record
        self.file = file
        self.name = name
        gathered = buffer
    }

    /// Whether more came than was announced.
    var isTooLong: Bool { received > UInt64(record.size) }
    var isComplete: Bool { received == UInt64(record.size) }

    /// Takes the next bytes; what exceeds the announced size is only counted.
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

    /// Writes the last `piece.count` of the bytes that were received.
    private func write(_ piece: UnsafeRawBufferPointer) throws(SystemError) {
        hash.update(piece)
        let start = received - UInt64(piece.count)
        try file.write(piece, at: start)
        if start / Self.portion != received / Self.portion { file.beginWritingBack() }
    }

    /// Whether the bytes of a complete upload are those that were announced.
    var isAuthentic: Bool { hash.finalize() == record.digest }
}
