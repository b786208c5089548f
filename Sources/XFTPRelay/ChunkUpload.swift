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
    /// Bytes that wait to be written together: a record of TLS is small, a system call is not. The
    /// memory is private to this object.
    private let gathered: UnsafeMutableRawBufferPointer
    private var waiting = 0

    private static let gather = 128 << 10

    init(record: ChunkRecord, file: OpenFile, name: String) {
        self.record = record
        self.file = file
        self.name = name
        gathered = .allocate(byteCount: min(Self.gather, max(1, Int(record.size))), alignment: 64)
    }

    deinit { gathered.deallocate() }

    /// Whether more came than was announced.
    var isTooLong: Bool { received > UInt64(record.size) }
    var isComplete: Bool { received == UInt64(record.size) }

    /// Takes the next bytes; what exceeds the announced size is only counted.
    func receive(_ bytes: UnsafeRawBufferPointer) throws(SystemError) {
        let wanted = min(UInt64(bytes.count), UInt64(record.size) - min(received, UInt64(record.size)))
        var rest = bytes[..<Int(wanted)]
        while !rest.isEmpty {
            let count = min(rest.count, gathered.count - waiting)
            let room = UnsafeMutableRawBufferPointer(rebasing: gathered[waiting..<waiting + count])
            room.copyMemory(from: UnsafeRawBufferPointer(rebasing: rest.prefix(count)))
            waiting += count
            received += UInt64(count)
            rest = rest.dropFirst(count)
            if waiting == gathered.count || isComplete { try write() }
        }
        received += UInt64(bytes.count) - wanted
    }

    private func write() throws(SystemError) {
        let piece = UnsafeRawBufferPointer(rebasing: gathered[..<waiting])
        hash.update(piece)
        try file.write(piece, at: received - UInt64(waiting))
        waiting = 0
    }

    /// Whether the bytes of a complete upload are those that were announced.
    var isAuthentic: Bool { hash.finalize() == record.digest }
}
