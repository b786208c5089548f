import CSQLite
import Cryptography
import Glibc

/// The database file as SQLite sees it, without the page in front.
final class DatabaseFile: VirtualFile {
    let beneath: UnderlyingFile?
    let connection: SealedConnection
    private let file: UnderlyingFile
    private let records: RecordFile
    /// The checkpoint that this connection has begun.
    private var checkpoint: CheckpointRecord?

    init(_ file: UnderlyingFile, cipher: RecordCipher) {
        self.file = file
        beneath = file
        connection = SealedConnection(cipher: cipher, database: file)
        records = RecordFile(layout: .database, file: file, cipher: cipher)
    }

    func close() { records.close() }

    func read(_ bytes: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int32 {
        guard let start = bytes.baseAddress else { return SQLITE_OK }
        let record = FileLayout.database.record(at: offset)
        if offset == record.offset, bytes.count == record.length {
            return result(of: records.read(record, of: .none, into: start))
        }
        let isHeader = offset + Int64(bytes.count) <= Self.headerLength
        return isHeader
            ? readHeader(start, bytes.count, at: offset) : readPart(start, bytes.count, of: record, offset)
    }

    /// Since 3.45 SQLite reads what a long value has on a page of its own without the rest of that page
    /// (https://sqlite.org/compile.html#direct_overflow_read).
    private func readPart(
        _ start: UnsafeMutableRawPointer, _ count: Int, of record: FileLayout.Record, _ offset: Int64
    ) -> Int32 {
        let within = Int(offset - record.offset)
        guard within + count <= record.length else { return ResultCode.read }
        let outcome = records.read(record, of: .none, into: records.plain)
        if outcome == .read { start.copyMemory(from: records.plain + within, byteCount: count) }
        return result(of: outcome)
    }

    private static let headerLength: Int64 = 100

    /// The header in the first page is read when SQLite opens the file, without a lock and before it has looked into
    /// the log. Another process may be writing the page, or was when power was lost, and it is whole in the log only.
    /// What SQLite takes from there is the same in all databases of ours; it reads the page itself later, where it must
    /// be whole.
    private func readHeader(_ start: UnsafeMutableRawPointer, _ count: Int, at offset: Int64) -> Int32 {
        var outcome = RecordFile.Outcome.absent
        for _ in 0..<20 {
            outcome = records.read(FileLayout.database.record(at: 0), of: .none, into: records.plain)
            guard outcome == .damaged else { break }
            usleep(500)
        }
        if case .failed(let result) = outcome { return result }
        if outcome == .read {
            start.copyMemory(from: records.plain + Int(offset), byteCount: count)
        } else {
            UnsafeMutableRawBufferPointer(start: start, count: count)
                .copyBytes(from: NewDatabase.firstPage()[Int(offset)..<Int(offset) + count])
        }
        return SQLITE_OK
    }

    /// A page that is not there is one that was: what SQLite frees it overwrites (`secure_delete`), so that a file
    /// has no holes.
    private func result(of outcome: RecordFile.Outcome) -> Int32 {
        switch outcome {
        case .read: SQLITE_OK
        case .absent, .damaged: ResultCode.damagedPage
        case .failed(let result): result
        }
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) -> Int32 {
        let record = FileLayout.database.record(at: offset)
        guard let start = bytes.baseAddress, offset == record.offset, bytes.count == record.length else {
            return ResultCode.write
        }
        return records.write(record, of: .none, from: start)
    }

    func truncate(to length: Int64) -> Int32 {
        file.methods.xTruncate(file.pointer, FileLayout.database.size(ofLength: length))
    }

    func size(_ size: inout Int64) -> Int32 {
        var onDisk: Int64 = 0
        let result = file.methods.xFileSize(file.pointer, &onDisk)
        size = FileLayout.database.length(ofSize: onDisk)
        return result
    }

    /// Only checkpoints call it.
    func synchronise(_ flags: Int32) -> Int32 {
        if let checkpoint {
            let finished = CheckpointRecord(log: checkpoint.log, frames: checkpoint.frames, isFinished: true)
            let result = store(finished)
            guard result == SQLITE_OK else { return result }
            self.checkpoint = nil
        }
        return file.methods.xSync(file.pointer, flags)
    }

    func control(_ operation: Int32, _ argument: UnsafeMutableRawPointer?) -> Int32 {
        switch operation {
        case SQLITE_FCNTL_CKPT_START:
            beginCheckpoint()
            return SQLITE_OK
        // Would speak of another size than the file has, or pass pages by this one.
        case SQLITE_FCNTL_SIZE_HINT, SQLITE_FCNTL_CHUNK_SIZE, SQLITE_FCNTL_MMAP_SIZE: return SQLITE_NOTFOUND
        default: return file.methods.xFileControl(file.pointer, operation, argument)
        }
    }

    // MARK: - Checkpoints

    /// nil: there was none yet, or it was not written to its end.
    func lastCheckpoint() -> CheckpointRecord? {
        let outcome = records.read(CheckpointRecord.record, of: .none, into: records.plain)
        return outcome == .read ? CheckpointRecord(records.plain) : nil
    }

    private func store(_ checkpoint: CheckpointRecord) -> Int32 {
        checkpoint.store(to: records.plain)
        return records.write(CheckpointRecord.record, of: .none, from: records.plain)
    }

    /// What cannot be written is missing from the record, which then says less than it could.
    private func beginCheckpoint() {
        guard let frames = attemptedFrames(), let log = connection.currentLog else { return }
        let begun = CheckpointRecord(log: log, frames: frames, isFinished: false)
        if store(begun) == SQLITE_OK { checkpoint = begun }
    }

    /// Up to which frame the checkpoint goes: SQLite has written it to the shared memory, at a place that is documented
    /// (https://sqlite.org/walformat.html, "nBackfillAttempted").
    private func attemptedFrames() -> UInt32? {
        var memory: UnsafeMutableRawPointer?
        let result = withUnsafeMutablePointer(to: &memory) { memory in
            memory.withMemoryRebound(to: Optional<UnsafeMutableRawPointer>.self, capacity: 1) {
                file.methods.xShmMap(file.pointer, 0, 32_768, 0, $0)
            }
        }
        guard result == SQLITE_OK, let memory else { return nil }
        return memory.load(fromByteOffset: 128, as: UInt32.self)
    }
}
