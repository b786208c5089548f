import Cryptography

/// The kind and place of a sealed record, authenticated with it, so that it opens nowhere else. The key identifies the
/// database.
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
    /// The number of the page or of the frame in the log, from 1.
    let number: UInt64
    /// The log of a frame, otherwise zeros.
    var log = LogIdentity.none

    func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        let words = (
            kind.rawValue.littleEndian, number.littleEndian, log.words.0, log.words.1, log.words.2
        )
        return Swift.withUnsafeBytes(of: words, body)
    }
}

/// Identifies a write-ahead log: the nonce of its header, new each time SQLite restarts the log. Frames of earlier logs
/// in the same file are thus rejected.
struct LogIdentity: Equatable {
    static let length = RecordCipher.nonceLength
    /// The identity before the first log of a database.
    static let none = LogIdentity(words: (0, 0, 0))

    let words: (UInt64, UInt64, UInt64)

    private init(words: (UInt64, UInt64, UInt64)) { self.words = words }

    /// - Parameter bytes: 24 bytes.
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
