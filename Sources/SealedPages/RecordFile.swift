import CSQLite
import Cryptography
import Glibc

/// Reads and writes what SQLite asks for as sealed records. Whole records go straight to and from SQLite's memory;
/// parts of one through memory of its own. Results are SQLite's codes.
struct RecordFile {
    let layout: FileLayout
    let file: UnderlyingFile
    let cipher: RecordCipher
    // Safe: one file's own, used by one thread at a time, freed by `close`.
    private let sealed: UnsafeMutableRawPointer
    /// For a record of which SQLite wants a part, or that is not SQLite's.
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
        /// Nothing of the record is in the file.
        case absent
        /// Not what was written there, or only a part of it.
        case damaged
        case failed(Int32)
    }

    /// Reads one record into `memory`: its content, and behind a page's the zeros of its reserved bytes.
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

    /// Writes one record from `memory`, which has its content and behind a page's the reserved bytes.
    func write(_ record: FileLayout.Record, of log: LogIdentity, from memory: UnsafeRawPointer) -> Int32 {
        let reserved = UnsafeRawBufferPointer(
            start: memory + record.contentLength, count: record.reservedLength)
        // SQLite leaves them zero. Were they not, its checksum of the page in the log would never agree again.
        guard reserved.allSatisfy({ $0 == 0 }) else { return ResultCode.write }
        let content = UnsafeRawBufferPointer(start: memory, count: record.contentLength)
        let place = RecordPlace(kind: record.kind, number: record.number, log: log)
        guard cipher.seal(content, as: place, into: sealed) else { return ResultCode.write }
        return file.write(sealed, record.sealedLength, at: record.position)
    }

    /// The nonce of the record that was written or read last.
    func lastNonce(of record: FileLayout.Record) -> UnsafeRawPointer {
        UnsafeRawPointer(sealed + record.contentLength)
    }
}
