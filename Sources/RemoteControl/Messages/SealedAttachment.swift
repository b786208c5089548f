import Base
import Cryptography
import Network

/// The file of a request, encrypted as the connection reads it.
final class SealedAttachment: BodySource, @unchecked Sendable {
    // Safe: only the connection's thread changes state.
    private var box: StreamBox
    /// The bytes to send next: the header first, the tag at the end.
    private var waiting: [UInt8]
    private var left: Int
    private var hasTag = false

    private static let mark: UInt8 = 1
    private static let headerLength = 5
    /// The maximum length: with its tag it is a number of four bytes.
    static let longest = Int(UInt32.max) - StreamBox.tagLength

    let length: Int
    private let file: any BodySource

    /// - Throws: `.limit` for a file that is too long.
    init(_ file: any BodySource, key: BoxKey) throws(RemoteControlError) {
        guard file.length <= Self.longest else {
            throw RemoteControlError(.limit, "A file for the phone can have 4 GiB at most.")
        }
        self.file = file
        length = Self.headerLength + file.length + StreamBox.tagLength
        var header = [Self.mark]
        header.append(bigEndian: UInt32(file.length + StreamBox.tagLength))
        box = try .opening(key)
        waiting = header
        left = file.length
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws -> Int {
        if waiting.isEmpty, left > 0 {
            let part = UnsafeMutableRawBufferPointer(rebasing: buffer[..<min(buffer.count, left)])
            let count = try file.read(into: part, at: file.length - left)
            guard count > 0 else { return 0 }
            box.seal(UnsafeMutableRawBufferPointer(rebasing: part[..<count]))
            left -= count
            return count
        }
        if waiting.isEmpty, !hasTag {
            waiting = box.tag()
            hasTag = true
        }
        let count = min(buffer.count, waiting.count)
        buffer.copyBytes(from: waiting.prefix(count))
        waiting.removeFirst(count)
        return count
    }
}
