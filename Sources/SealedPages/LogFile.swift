import CSQLite
import Glibc

/// The write-ahead log as SQLite sees it.
///
/// Committed frames must exist and be authentic. When SQLite recovers the log of a database that no process has open,
/// the first frame that is not authentic marks a power cut. The log ends there, unless it is known to have been
/// complete.
final class LogFile: VirtualFile {
    let beneath: UnderlyingFile?
    private let file: UnderlyingFile
    private let database: DatabaseFile
    private let records: RecordFile
    private var connection: SealedConnection { database.connection }
    /// Whether SQLite is reading the whole log from its header under an exclusive lock, as after a crash. Frames that
    /// are not authentic may then be incomplete writes.
    private var isRecovering = false

    init(_ file: UnderlyingFile, of database: DatabaseFile) {
        self.file = file
        beneath = file
        self.database = database
        records = RecordFile(layout: .log, file: file, cipher: database.connection.cipher)
        database.connection.logFile = self
    }

    func close() {
        connection.logFile = nil
        records.close()
    }

    private static let header = FileLayout.log.record(at: 0)

    /// Returns the unauthenticated identity in the file. Reads with a wrong identity fail authentication.
    func identity() -> LogIdentity? {
        let position = Self.header.position + Int64(Self.header.contentLength)
        var bytes: (UInt64, UInt64, UInt64) = (0, 0, 0)
        let result = file.read(&bytes, LogIdentity.length, at: position)
        return result == SQLITE_OK ? withUnsafeBytes(of: &bytes) { LogIdentity($0.baseAddress!) } : nil
    }

    // MARK: - Reading

    func read(_ bytes: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int32 {
        guard let start = bytes.baseAddress else { return SQLITE_OK }
        if offset == 0, bytes.count == FileLayout.logHeaderLength {
            isRecovering = true
        } else if bytes.count != FileLayout.frameLength {
            isRecovering = false
        }
        var done = 0
        while done < bytes.count {
            let record = FileLayout.log.record(at: offset + Int64(done))
            let within = Int(offset + Int64(done) - record.offset)
            let count = min(record.length - within, bytes.count - done)
            let outcome: RecordFile.Outcome
            if record.kind == .logHeader {
                outcome = readHeader()
            } else if count == record.length {
                outcome = records.read(record, of: connection.currentLog ?? .none, into: start + done)
            } else {
                outcome = records.read(record, of: connection.currentLog ?? .none, into: records.plain)
            }
            switch outcome {
            case .read: break
            case .failed(let result): return result
            case .absent, .damaged:
                guard isRecovering, mayBeUnfinished(record) else { return ResultCode.damagedPage }
                // Zeros end the log for SQLite: no page has number 0 and no log header starts with 0.
                memset(start, 0, bytes.count)
                return SQLITE_OK
            }
            if record.kind == .logHeader || count < record.length {
                (start + done).copyMemory(from: records.plain + within, byteCount: count)
            }
            done += count
        }
        return SQLITE_OK
    }

    /// Reads the header into `records.plain`. During recovery, an authentic header of a log that does not belong to the
    /// file is damage.
    private func readHeader() -> RecordFile.Outcome {
        let outcome = records.read(Self.header, of: .none, into: records.plain)
        guard outcome == .read, isRecovering, let last = database.lastCheckpoint() else {
            return outcome
        }
        let found = LogIdentity(records.lastNonce(of: Self.header))
        let predecessor = LogIdentity(records.plain + FileLayout.logHeaderLength)
        let frames = file.size().map {
            ($0 - Int64(FileLayout.sealedLogHeaderLength)) / Int64(FileLayout.sealedFrameLength)
        }
        let isAllowed = last.allows(found, after: predecessor, frames: frames ?? 0)
        return isAllowed ? .read : .failed(ResultCode.damagedPage)
    }

    /// Returns whether an invalid record may be a write interrupted by a power cut. Not if the database file holds
    /// later pages, because the log was durable before them.
    private func mayBeUnfinished(_ record: FileLayout.Record) -> Bool {
        guard let last = database.lastCheckpoint() else { return true }
        if last.log == connection.currentLog { return record.number > UInt64(last.frames) }
        return last.isFinished
    }

    func size(_ size: inout Int64) -> Int32 {
        var onDisk: Int64 = 0
        let result = file.methods.xFileSize(file.pointer, &onDisk)
        size = FileLayout.log.length(ofSize: onDisk)
        guard result == SQLITE_OK, size <= FileLayout.logHeaderLength else {
            return result
        }
        // SQLite ignores such a log as empty, but an empty log needs no checkpoint.
        guard let last = database.lastCheckpoint(), !last.isFinished else { return result }
        return ResultCode.damagedPage
    }

    // MARK: - Writing

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) -> Int32 {
        guard let start = bytes.baseAddress else { return SQLITE_OK }
        isRecovering = false
        var done = 0
        while done < bytes.count {
            let record = FileLayout.log.record(at: offset + Int64(done))
            let within = Int(offset + Int64(done) - record.offset)
            let count = min(record.length - within, bytes.count - done)
            let result: Int32
            if record.kind == .logHeader {
                guard count == record.length else { return ResultCode.write }
                result = writeHeader(start + done)
            } else if count == record.length {
                result = records.write(record, of: connection.currentLog ?? .none, from: start + done)
            } else {
                result = writePart(start + done, count, of: record, from: within)
            }
            guard result == SQLITE_OK else { return result }
            done += count
        }
        return SQLITE_OK
    }

    /// Restarts the log. Its nonce becomes its identity.
    private func writeHeader(_ header: UnsafeRawPointer) -> Int32 {
        let predecessor = database.lastCheckpoint()?.log ?? .none
        records.plain.copyMemory(from: header, byteCount: FileLayout.logHeaderLength)
        predecessor.store(to: records.plain + FileLayout.logHeaderLength)
        let result = records.write(Self.header, of: .none, from: records.plain)
        connection.log = result == SQLITE_OK ? LogIdentity(records.lastNonce(of: Self.header)) : nil
        return result
    }

    /// SQLite splits the last frame of a transaction if the disk may damage neighbouring bytes.
    private func writePart(
        _ bytes: UnsafeRawPointer, _ count: Int, of record: FileLayout.Record, from within: Int
    ) -> Int32 {
        let log = connection.currentLog ?? .none
        switch records.read(record, of: log, into: records.plain) {
        case .read: break
        case .absent, .damaged: memset(records.plain, 0, record.length)
        case .failed(let result): return result
        }
        (records.plain + within).copyMemory(from: bytes, byteCount: count)
        return records.write(record, of: log, from: records.plain)
    }

    func truncate(to length: Int64) -> Int32 {
        file.methods.xTruncate(file.pointer, FileLayout.log.size(ofLength: length))
    }

    func synchronise(_ flags: Int32) -> Int32 { file.methods.xSync(file.pointer, flags) }

    func control(_ operation: Int32, _ argument: UnsafeMutableRawPointer?) -> Int32 { SQLITE_NOTFOUND }
}
