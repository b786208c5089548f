import Base
import Glibc
import Posix

/// Recovery of a damaged CryptoFile.
extension CryptoFile {
    public struct Salvage: Hashable, Sendable {
        /// Whether the tag is correct, so that no byte is missing or changed.
        public var isAuthentic: Bool
        /// The content's size in bytes, unreadable ones included.
        public var size: UInt64
        /// The number of bytes of content that the disk could not read. Zeros replace them.
        public var unreadable: UInt64
    }

    /// Decrypts all readable bytes of the CryptoFile at `source` into `destination`, replacing an existing file.
    /// Ignores a wrong tag: some bytes may then be wrong, at unknown places.
    /// - Throws: `.file`, but not for unreadable parts; `.notRegularFile` if `destination` is no regular file;
    ///   `.invalidKey` for arguments of wrong lengths.
    public static func salvage(
        from source: String, to destination: String, arguments: FileArguments
    ) throws(CryptographyError) -> Salvage {
        let input = try wrappingSystemError { () throws(SystemError) in
            try OpenFile(source, flags: O_RDONLY)
        }
        return try salvage(input, to: destination, arguments: arguments) {
            (buffer, offset) throws(SystemError) in try input.read(into: buffer, at: offset)
        }
    }

    /// - Parameter read: Reads from `input` like `OpenFile.read`.
    static func salvage(
        _ input: OpenFile, to destination: String, arguments: FileArguments,
        read: (UnsafeMutableRawBufferPointer, UInt64) throws(SystemError) -> Int
    ) throws(CryptographyError) -> Salvage {
        let box = try StreamBox(key: arguments.key, nonce: arguments.nonce)
        let length = try wrappingSystemError { () throws(SystemError) in try input.size() }
        let size = length - min(length, UInt64(StreamBox.tagLength))
        // Of a truncated file, the content that is there.
        let content = (arguments.content ?? 0..<size).clamped(to: 0..<size)
        var result = Salvage(isAuthentic: false, size: UInt64(content.count), unreadable: 0)
        try UnnamedFile.write(to: destination) { (file) throws(CryptographyError) in
            var authenticator = box
            var isComplete = true
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 4096)
            defer { buffer.deallocate() }
            while authenticator.position < size {
                let position = authenticator.position
                let count = Int(min(UInt64(buffer.count), size - position))
                let piece = UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
                let missing = fill(piece, from: position, read: read)
                authenticator.authenticate(UnsafeRawBufferPointer(piece))
                box.transform(piece, at: position)
                let part = content.clamped(to: position..<position + UInt64(count))
                let wanted = Int(part.lowerBound - position)..<Int(part.upperBound - position)
                erase(missing, of: piece)
                result.unreadable += missing.reduce(0) { $0 + UInt64($1.clamped(to: wanted).count) }
                isComplete = isComplete && missing.isEmpty
                guard !part.isEmpty else { continue }
                try wrappingSystemError { () throws(SystemError) in
                    try file.write(
                        UnsafeRawBufferPointer(rebasing: piece[wanted]),
                        at: part.lowerBound - content.lowerBound)
                }
            }
            var tag = [UInt8](repeating: 0, count: StreamBox.tagLength)
            let isThere = tag.withUnsafeMutableBytes { fill($0, from: size, read: read).isEmpty }
            result.isAuthentic = isThere && isComplete && authenticator.isAuthentic(tag)
        }
        return result
    }

    /// Fills a piece, page by page if reading it as a whole fails. Returns the unreadable ranges.
    private static func fill(
        _ piece: UnsafeMutableRawBufferPointer, from position: UInt64,
        read: (UnsafeMutableRawBufferPointer, UInt64) throws(SystemError) -> Int
    ) -> [Range<Int>] {
        if (try? read(piece, position)) == piece.count { return [] }
        var missing: [Range<Int>] = []
        for start in stride(from: 0, to: piece.count, by: page) {
            let end = min(start + page, piece.count)
            let part = UnsafeMutableRawBufferPointer(rebasing: piece[start..<end])
            let count = (try? read(part, position + UInt64(start))) ?? 0
            if count < part.count { missing.append(start + count..<end) }
        }
        return missing
    }

    /// Replaces ranges of a piece by zeros.
    private static func erase(_ ranges: [Range<Int>], of piece: UnsafeMutableRawBufferPointer) {
        for range in ranges { memset(piece.baseAddress! + range.lowerBound, 0, range.count) }
    }

    private static let page = 4096
}
