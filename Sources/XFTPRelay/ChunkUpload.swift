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

    init(record: ChunkRecord, file: OpenFile, name: String) {
        self.record = record
        self.file = file
        self.name = name
    }

    /// Whether more came than was announced.
    var isTooLong: Bool { received > UInt64(record.size) }
    var isComplete: Bool { received == UInt64(record.size) }

    func receive(_ bytes: UnsafeRawBufferPointer) throws(SystemError) {
        defer { received += UInt64(bytes.count) }
        guard received + UInt64(bytes.count) <= UInt64(record.size) else { return }
        hash.update(bytes)
        try file.write(bytes, at: received)
    }

    /// Whether the bytes are those that were announced.
    var isAuthentic: Bool { hash.finalize() == record.digest }
}
