import Base
import ChatCore
import Namespace
import Posix

/// Media types of pictures by their content, which names without an extension or with a wrong one do not tell. Looks
/// only at bytes on this machine. Thread-safe.
final class ContentTypes: Sendable {
    private let contents: any ContentStore
    private let entries: EntryReporter
    /// Returns the type of the first bytes of a picture; nil for anything else.
    private let recognise: (@Sendable ([UInt8]) -> MediaType?)?
    /// nil for files that are no pictures.
    private let known = Lock<[FileID: MediaType?]>([:])

    private static let beginning: UInt64 = 16
    /// Above this number everything is forgotten and looked up again.
    private static let maxKnown = 65_536
    /// A stored file is checked as a whole before its first byte is read.
    private static let maxSize: UInt64 = 8 << 20
    private static let deadline = Duration.seconds(10)

    init(
        contents: any ContentStore, entries: EntryReporter,
        recognise: (@Sendable ([UInt8]) -> MediaType?)?
    ) {
        self.contents = contents
        self.entries = entries
        self.recognise = recognise
    }

    /// Returns the type from memory: by content if it is known, else by name.
    func type(of node: Node) -> MediaType {
        let named = MediaType(fileName: node.name.description)
        guard case .item(let item) = node.content, let file = item.file else { return named }
        return (known.withLock { $0[file.id] } ?? nil) ?? named
    }

    /// Looks at a file whose bytes have arrived. Never waits.
    func arrived(_ node: Node) {
        guard let item = unknownPicture(node), let file = item.file,
            contents.condition(of: file.id).stage == .complete
        else { return }
        peek(item, file)
    }

    /// Returns the work that looks at the file; nil if its type is known or its bytes are not on this machine.
    func look(at node: Node) -> (@Sendable () async -> Void)? {
        guard let item = unknownPicture(node), let file = item.file, file.size <= Self.maxSize,
            let state = entries.report(on: node)?.state, state == .stored || state == .hydrated
        else { return nil }
        return { [self] in
            if await ThreadPool.shared.run({ self.peek(item, file) }) { return }
            let content = contents.content(of: item)
            defer { content.close() }
            let count = Int(min(Self.beginning, file.size))
            let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 1)
            defer { bytes.deallocate() }
            let result = await content.read(
                0..<UInt64(count), into: ReadBuffer(bytes), timeout: Self.deadline)
            if case .filled(let filled) = result { note(Array(bytes.prefix(filled)), of: file) }
        }
    }

    /// Returns nil if the name settles the type, or if it was looked for.
    private func unknownPicture(_ node: Node) -> ChatItem? {
        guard recognise != nil, case .item(let item) = node.content, let file = item.file, file.size > 0
        else { return nil }
        let named = MediaType(fileName: node.name.description)
        let mayBePicture = named == .unknown || named.kind == .image || Self.isSentAsPicture(item)
        return mayBePicture && known.withLock { $0[file.id] == nil } ? item : nil
    }

    private static func isSentAsPicture(_ item: ChatItem) -> Bool {
        if case .image = item.content.kind { true } else { false }
    }

    /// Returns true if the first bytes were at hand.
    @discardableResult
    private func peek(_ item: ChatItem, _ file: ChatFile) -> Bool {
        let content = contents.content(of: item)
        defer { content.close() }
        let count = Int(min(Self.beginning, file.size))
        var found: [UInt8]?
        withUnsafeTemporaryAllocation(byteCount: count, alignment: 1) { buffer in
            switch content.peek(0..<UInt64(count), into: buffer) {
            case .filled(let filled): found = Array(buffer.prefix(filled))
            case .ready(let ready): found = Array(ready.bytes.prefix(count))
            case .pending, .failed, .cancelled: break
            }
        }
        guard let found else { return false }
        note(found, of: file)
        return true
    }

    private func note(_ start: [UInt8], of file: ChatFile) {
        let type = recognise?(start)
        known.withLock { known in
            if known.count >= Self.maxKnown { known = [:] }
            known[file.id] = .some(type)
        }
    }
}
