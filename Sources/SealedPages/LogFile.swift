import CSQLite
import Glibc

/// The write-ahead log as SQLite sees it.
///
/// Its frames are read in two ways. Those that were committed, one by one: each must be there and authentic. And all
/// of them by who opens a database that nobody else has open: the first that is not authentic is taken for the one
/// at which power was lost, and the log ends before it, unless it is known to have been whole.
final class LogFile: VirtualFile {
    let beneath: UnderlyingFile?
    private let file: UnderlyingFile
    private let database: DatabaseFile
    private let records: RecordFile
    private var connection: SealedConnection { database.connection }
    /// SQLite is reading the whole log from its header on, as after the end of a process, and holds everybody off
    /// meanwhile. What of it is not authentic may then never have been written to its end.
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

    /// As the file says, which nobody vouches for: what is read with a wrong one is not authentic.
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
                // No page has the number 0 and no log begins so: to SQLite the log ends here.
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

    /// Into `records.plain`. In recovery a header that is authentic, but of another log than the file can go with, is
    /// damage too.
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

    /// Whether a record that is not authentic may be one at which power was lost. Not where pages behind it are in the
    /// database file: the log was durable before.
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
        // SQLite takes this for an empty log and does not read it; but an empty log needs no checkpoint.
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

    /// A log begins anew. Its nonce is its identity.
    private func writeHeader(_ header: UnsafeRawPointer) -> Int32 {
        let predecessor = database.lastCheckpoint()?.log ?? .none
        records.plain.copyMemory(from: header, byteCount: FileLayout.logHeaderLength)
        predecessor.store(to: records.plain + FileLayout.logHeaderLength)
        let result = records.write(Self.header, of: .none, from: records.plain)
        connection.log = result == SQLITE_OK ? LogIdentity(records.lastNonce(of: Self.header)) : nil
        return result
    }

    /// SQLite writes the last frame of a transaction in two parts where a disk may spoil what is beside a write.
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
