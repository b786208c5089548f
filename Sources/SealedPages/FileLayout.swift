import Cryptography

/// Maps the bytes that SQLite sees to a sealed file. An "offset" is a place in SQLite's view. A "position" is a place
/// on disk, where each page or header is a sealed record.
enum FileLayout: Sendable {
    /// The database: a header page (`DatabaseHeader`), then SQLite's pages in equal size. Nonce and tag use the
    /// reserved bytes at the end of each page.
    case database
    /// The write-ahead log: its header, then frames of a header and a page each. Headers have no reserved bytes, so
    /// they are longer on disk.
    case log

    static let pageSize = 4096
    /// The reserved bytes at the end of every page (byte 20 of the first page). SQLite sees zeros there.
    static let reservedLength = RecordCipher.overhead
    static let logHeaderLength = 32
    static let frameHeaderLength = 24
    /// The log header on disk also holds the identity of the previous log.
    static let sealedLogHeaderLength = logHeaderLength + LogIdentity.length + RecordCipher.overhead
    static let sealedFrameHeaderLength = frameHeaderLength + RecordCipher.overhead
    static let frameLength = frameHeaderLength + pageSize
    static let sealedFrameLength = sealedFrameHeaderLength + pageSize

    /// One page or header.
    struct Record {
        let kind: RecordPlace.Kind
        let number: UInt64
        /// The place in SQLite's view.
        let offset: Int64
        let length: Int
        /// The place on disk.
        let position: Int64
        let sealedLength: Int

        var end: Int64 { offset + Int64(length) }
        /// The length of the sealed content: a page without its reserved bytes, or a log header with the previous log's
        /// identity.
        var contentLength: Int { sealedLength - RecordCipher.overhead }
        /// SQLite's zeros at the end of a page.
        var reservedLength: Int { max(0, length - contentLength) }
    }

    /// Returns the record with the byte at `offset`.
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

    /// Returns the length that SQLite sees for a file of `size` bytes on disk. Incomplete headers do not count.
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

    /// Returns the size on disk for a file that SQLite truncates to `length`. A partly kept record stays.
    func size(ofLength length: Int64) -> Int64 {
        guard length > 0 else { return self == .database ? Int64(Self.pageSize) : 0 }
        let last = record(at: length - 1)
        return last.position + Int64(last.sealedLength)
    }
}
