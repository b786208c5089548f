import CSQLite
import Cryptography
import Glibc

/// Reads and writes sealed records for SQLite. Whole records use SQLite's memory directly, partial ones an own buffer.
/// Returns SQLite result codes.
struct RecordFile {
    let layout: FileLayout
    let file: UnderlyingFile
    let cipher: RecordCipher
    // Safe: owned by one file, used by one thread at a time, freed by `close`.
    private let sealed: UnsafeMutableRawPointer
    /// For partial records and for records that SQLite does not see.
    let plain: UnsafeMutableRawPointer

    init(layout: FileLayout, file: UnderlyingFile, cipher: RecordCipher) {
        self.layout = layout
        self.file = file
        self.cipher = cipher
        sealed = .allocate(byteCount: FileLayout.pageSize, alignment: 64)
        plain = .allocate(byteCount: FileLayout.pageSize, alignment: 64)
    }

    func close() {
        explicit_bzero(plain, FileLayout.pageSize)
        sealed.deallocate()
        plain.deallocate()
    }

    enum Outcome: Equatable {
        case read
        /// The file ends before the record.
        case absent
        /// The record is incomplete or not authentic.
        case damaged
        case failed(Int32)
    }

    /// Reads one record into `memory`, with zeros in the reserved bytes of a page.
    func read(
        _ record: FileLayout.Record, of log: LogIdentity, into memory: UnsafeMutableRawPointer
    ) -> Outcome {
        let result = file.read(sealed, record.sealedLength, at: record.position)
        guard result == SQLITE_OK || result == ResultCode.shortRead else { return .failed(result) }
        if result == ResultCode.shortRead {
            guard let size = file.size() else { return .failed(ResultCode.status) }
            return size <= record.position ? .absent : .damaged
        }
        let place = RecordPlace(kind: record.kind, number: record.number, log: log)
        let whole = UnsafeRawBufferPointer(start: sealed, count: record.sealedLength)
        guard cipher.open(whole, as: place, into: memory) else { return .damaged }
        memset(memory + record.contentLength, 0, record.reservedLength)
        return .read
    }

    /// Writes one record from `memory`, which includes the reserved bytes of a page.
    func write(_ record: FileLayout.Record, of log: LogIdentity, from memory: UnsafeRawPointer) -> Int32 {
        let reserved = UnsafeRawBufferPointer(
            start: memory + record.contentLength, count: record.reservedLength)
        // SQLite keeps them zero. Other values would break its checksum of the page in the log.
        guard reserved.allSatisfy({ $0 == 0 }) else { return ResultCode.write }
        let content = UnsafeRawBufferPointer(start: memory, count: record.contentLength)
        let place = RecordPlace(kind: record.kind, number: record.number, log: log)
        guard cipher.seal(content, as: place, into: sealed) else { return ResultCode.write }
        return file.write(sealed, record.sealedLength, at: record.position)
    }

    /// Returns the nonce of the last record read or written.
    func lastNonce(of record: FileLayout.Record) -> UnsafeRawPointer {
        UnsafeRawPointer(sealed + record.contentLength)
    }
}
