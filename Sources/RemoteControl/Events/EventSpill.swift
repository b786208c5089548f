import Base
import Cryptography
import Posix

/// Unread events in order, in a sealed unnamed file. For one thread at a time.
final class EventSpill {
    private let file: SealedFile
    private let limit: UInt64
    private var start: UInt64 = 0
    private var end: UInt64 = 0

    /// - Parameters:
    ///   - file: Empty, open for reading and writing.
    ///   - limit: The maximum size in bytes.
    /// - Throws: `.file`.
    init(_ file: OpenFile, limit: UInt64) throws(CryptographyError) {
        self.file = try SealedFile(file: file, key: SecretBytes(randomCount: 32), fileID: [])
        self.limit = limit
    }

    var isEmpty: Bool { start == end }

    /// Adds an event. Returns false if the file is full.
    /// - Throws: `.file`; the event is not stored then.
    func append(_ event: [UInt8]) throws(CryptographyError) -> Bool {
        guard end + UInt64(event.count) + 4 <= limit else { return false }
        var record: [UInt8] = []
        record.append(bigEndian: UInt32(event.count))
        record += event
        try file.write(record, at: end)
        end += UInt64(record.count)
        return true
    }

    /// Removes and returns the oldest event.
    /// - Throws: `.file`, `.notAuthentic` if the disk lost it. Nothing more can be read then.
    func next() throws(CryptographyError) -> [UInt8]? {
        guard !isEmpty else { return nil }
        var head = ByteReader(try bytes(4, at: start))
        guard let count = head.integer(UInt32.self), start + 4 + UInt64(count) <= end else {
            throw CryptographyError(.tooShort, "A stored event is missing.")
        }
        let event = try bytes(Int(count), at: start + 4)
        start += 4 + UInt64(count)
        if isEmpty {
            try file.truncate(to: 0)
            (start, end) = (0, 0)
        }
        return event
    }

    private func bytes(_ count: Int, at offset: UInt64) throws(CryptographyError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let read = try bytes.withUnsafeMutableBufferPointer { buffer throws(CryptographyError) -> Int in
            try file.read(into: UnsafeMutableRawBufferPointer(buffer), at: offset)
        }
        guard read == count else {
            throw CryptographyError(.tooShort, "A stored event is missing.")
        }
        return bytes
    }
}
