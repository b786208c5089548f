import Cryptography

/// Where the bytes that SQLite knows lie in a sealed file. SQLite sees ("offset") what it would see in a plain one;
/// on disk ("position") each page or header of it is a sealed record.
enum FileLayout: Sendable {
    /// The database: a page of our own (`DatabaseHeader`), then SQLite's pages, of the same size on disk: nonce and
    /// tag lie in the bytes at the end of each that SQLite leaves alone.
    case database
    /// The write-ahead log: its header, then frames of a header and a page each. Headers have no spare bytes, so
    /// they are longer on disk.
    case log

    static let pageSize = 4096
    /// At the end of every page, as byte 20 of the first says; SQLite sees zeros there.
    static let reservedLength = RecordCipher.overhead
    static let logHeaderLength = 32
    static let frameHeaderLength = 24
    /// On disk the header of a log also holds the identity of the log before it.
    static let sealedLogHeaderLength = logHeaderLength + LogIdentity.length + RecordCipher.overhead
    static let sealedFrameHeaderLength = frameHeaderLength + RecordCipher.overhead
    static let frameLength = frameHeaderLength + pageSize
    static let sealedFrameLength = sealedFrameHeaderLength + pageSize

    /// One page or header.
    struct Record {
        let kind: RecordPlace.Kind
        let number: UInt64
        /// As SQLite knows it.
        let offset: Int64
        let length: Int
        /// On disk.
        let position: Int64
        let sealedLength: Int

        var end: Int64 { offset + Int64(length) }
        /// What is sealed: a page without its reserved bytes, the header of a log with more than SQLite knows.
        var contentLength: Int { sealedLength - RecordCipher.overhead }
        /// SQLite's zeros at the end of a page.
        var reservedLength: Int { max(0, length - contentLength) }
    }

    /// The record in which the byte at `offset` lies.
    func record(at offset: Int64) -> Record {
        switch self {
        case .database:
            let index = offset / Int64(Self.pageSize)
            return Record(
                kind: .page, number: UInt64(index) + 1, offset: index * Int64(Self.pageSize),
                length: Self.pageSize, position: (index + 1) * Int64(Self.pageSize),
                sealedLength: Self.pageSize)
        case .log:
            guard offset >= Int64(Self.logHeaderLength) else {
                return Record(
                    kind: .logHeader, number: 0, offset: 0, length: Self.logHeaderLength, position: 0,
                    sealedLength: Self.sealedLogHeaderLength)
            }
            let (index, within) = (offset - Int64(Self.logHeaderLength)).quotientAndRemainder(
                dividingBy: Int64(Self.frameLength))
            let frame = Int64(Self.logHeaderLength) + index * Int64(Self.frameLength)
            let position = Int64(Self.sealedLogHeaderLength) + index * Int64(Self.sealedFrameLength)
            if within < Self.frameHeaderLength {
                return Record(
                    kind: .frameHeader, number: UInt64(index) + 1, offset: frame,
                    length: Self.frameHeaderLength, position: position,
                    sealedLength: Self.sealedFrameHeaderLength)
            }
            return Record(
                kind: .framePage, number: UInt64(index) + 1, offset: frame + Int64(Self.frameHeaderLength),
                length: Self.pageSize, position: position + Int64(Self.sealedFrameHeaderLength),
                sealedLength: Self.pageSize)
        }
    }

    /// As long as SQLite may know the file to be, of `size` bytes on disk. What is cut off in a header does not count.
    func length(ofSize size: Int64) -> Int64 {
        switch self {
        case .database: return max(0, size - Int64(Self.pageSize))
        case .log:
            guard size >= Self.sealedLogHeaderLength else { return 0 }
            let (frames, rest) = (size - Int64(Self.sealedLogHeaderLength)).quotientAndRemainder(
                dividingBy: Int64(Self.sealedFrameLength))
            let whole = Int64(Self.logHeaderLength) + frames * Int64(Self.frameLength)
            guard rest >= Self.sealedFrameHeaderLength else { return whole }
            return whole + rest - Int64(RecordCipher.overhead)
        }
    }

    /// On disk, for a file that SQLite wants `length` long; a record of which a part stays, stays.
    func size(ofLength length: Int64) -> Int64 {
        guard length > 0 else { return self == .database ? Int64(Self.pageSize) : 0 }
        let last = record(at: length - 1)
        return last.position + Int64(last.sealedLength)
    }
}
