import Base
import Cryptography
import Network

/// The file of a request, encrypted as the connection reads it.
final class SealedAttachment: BodySource {
    private struct State {
        var box: StreamBox
        /// The bytes to send next: the header first, the tag at the end.
        var waiting: [UInt8]
        var left: Int
        var hasTag = false
    }

    private static let mark: UInt8 = 1
    private static let headerLength = 5
    /// The maximum length: with its tag it is a number of four bytes.
    static let longest = Int(UInt32.max) - StreamBox.tagLength

    let length: Int
    private let file: any BodySource
    private let state: Lock<State>

    /// - Throws: `.limit` for a file that is too long.
    init(_ file: any BodySource, key: BoxKey) throws(RemoteControlError) {
        guard file.length <= Self.longest else {
            throw RemoteControlError(.limit, "A file for the phone can have 4 GiB at most.")
        }
        self.file = file
        length = Self.headerLength + file.length + StreamBox.tagLength
        var header = [Self.mark]
        header.append(bigEndian: UInt32(file.length + StreamBox.tagLength))
        state = Lock(State(box: try .opening(key), waiting: header, left: file.length))
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws -> Int {
        // Only the connection's thread calls this. The file may block, so no lock is held meanwhile.
        var state = self.state.withLock { $0 }
        defer { self.state.withLock { [state] in $0 = state } }
        if state.waiting.isEmpty, state.left > 0 {
            let part = UnsafeMutableRawBufferPointer(rebasing: buffer[..<min(buffer.count, state.left)])
            let count = try file.read(into: part, at: file.length - state.left)
            guard count > 0 else { return 0 }
            state.box.seal(UnsafeMutableRawBufferPointer(rebasing: part[..<count]))
            state.left -= count
            return count
        }
        if state.waiting.isEmpty, !state.hasTag {
            state.waiting = state.box.tag()
            state.hasTag = true
        }
        let count = min(buffer.count, state.waiting.count)
        buffer.copyBytes(from: state.waiting.prefix(count))
        state.waiting.removeFirst(count)
        return count
    }
}
