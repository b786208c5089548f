import CSQLite
import Cryptography
import Glibc

/// The database file as SQLite sees it, without the header page.
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

    /// Since 3.45, SQLite reads overflow content without the rest of its page
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

    /// SQLite reads the header in the first page when it opens the file, without a lock and before reading the log.
    /// Another process may be writing the page, or a power cut may have left it whole only in the log. SQLite takes
    /// from it only values that are equal in all sealed databases, and reads the page again later.
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

    /// A missing page was lost: SQLite overwrites freed pages (`secure_delete`), so the file has no holes.
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

    /// Called only by checkpoints.
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
        // These would reveal another file size or bypass this layer.
        case SQLITE_FCNTL_SIZE_HINT, SQLITE_FCNTL_CHUNK_SIZE, SQLITE_FCNTL_MMAP_SIZE: return SQLITE_NOTFOUND
        default: return file.methods.xFileControl(file.pointer, operation, argument)
        }
    }

    // MARK: - Checkpoints

    /// Returns nil if there was no checkpoint or the record is incomplete.
    func lastCheckpoint() -> CheckpointRecord? {
        let outcome = records.read(CheckpointRecord.record, of: .none, into: records.plain)
        return outcome == .read ? CheckpointRecord(records.plain) : nil
    }

    private func store(_ checkpoint: CheckpointRecord) -> Int32 {
        checkpoint.store(to: records.plain)
        return records.write(CheckpointRecord.record, of: .none, from: records.plain)
    }

    /// Begins a checkpoint. A failed write leaves the previous record, which guarantees less.
    private func beginCheckpoint() {
        guard let frames = attemptedFrames(), let log = connection.currentLog else { return }
        let begun = CheckpointRecord(log: log, frames: frames, isFinished: false)
        if store(begun) == SQLITE_OK { checkpoint = begun }
    }

    /// Returns the last frame of the checkpoint. SQLite has written it to a documented place in the shared memory
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
