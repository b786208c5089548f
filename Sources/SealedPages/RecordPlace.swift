import Cryptography

/// What a sealed record is and where: it is authenticated with it, so that it opens nowhere else. Of which database
/// it is says the key.
struct RecordPlace {
    enum Kind: UInt64, CaseIterable {
        /// A page of the database file.
        case page = 1
        case logHeader = 2
        case frameHeader = 3
        case framePage = 4
        case checkpoint = 5
    }

    let kind: Kind
    /// Of the page or of the frame in the log; from 1.
    let number: UInt64
    /// Of the log that a frame belongs to, otherwise zeros.
    var log = LogIdentity.none

    func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        let words = (
            kind.rawValue.littleEndian, number.littleEndian, log.words.0, log.words.1, log.words.2
        )
        return Swift.withUnsafeBytes(of: words, body)
    }
}

/// Which write-ahead log a frame belongs to: the nonce of the log's header, fresh each time that SQLite begins the
/// log anew. Frames of an earlier one in the same file are nothing to the next.
struct LogIdentity: Equatable {
    static let length = RecordCipher.nonceLength
    /// Of no log: what a database has that never had one.
    static let none = LogIdentity(words: (0, 0, 0))

    let words: (UInt64, UInt64, UInt64)

    private init(words: (UInt64, UInt64, UInt64)) { self.words = words }

    /// - Parameter bytes: 24 of them.
    init(_ bytes: UnsafeRawPointer) {
        words = (
            bytes.loadUnaligned(as: UInt64.self), bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self),
            bytes.loadUnaligned(fromByteOffset: 16, as: UInt64.self)
        )
    }

    func store(to bytes: UnsafeMutableRawPointer) {
        Swift.withUnsafeBytes(of: words) { bytes.copyMemory(from: $0.baseAddress!, byteCount: Self.length) }
    }

    static func == (left: LogIdentity, right: LogIdentity) -> Bool { left.words == right.words }
}

extension RecordCipher {
    func seal(
        _ plaintext: UnsafeRawBufferPointer, as place: RecordPlace, into sealed: UnsafeMutableRawPointer
    ) -> Bool {
        place.withUnsafeBytes { seal(plaintext, authenticating: $0, into: sealed) }
    }

    func open(
        _ sealed: UnsafeRawBufferPointer, as place: RecordPlace, into plaintext: UnsafeMutableRawPointer
    ) -> Bool {
        place.withUnsafeBytes { open(sealed, authenticating: $0, into: plaintext) }
    }
}
