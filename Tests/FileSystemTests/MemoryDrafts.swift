import Base
import ChatCore
import FileSystem
import Glibc
import Outbox

/// Drafts in memory with states and failures set by the test.
final class MemoryDrafts: DraftStore {
    enum Operation: Hashable, CaseIterable {
        case create, rename, remove, complete, retry, acknowledge, synchronise
    }

    private struct State {
        var drafts: [Int64: MemoryDraft] = [:]
        var lastID: Int64 = 0
        var streams: [AsyncStream<DraftChange>.Continuation] = []
        var failures: [Operation: OutboxError] = [:]
        var acknowledged: [Int64] = []
        var retried: [Int64] = []
        var failedOperations: [FailedOperation] = []
        /// Drafts that the core accepts while they are being removed.
        var taken: Set<Int64> = []
        var whenSendingRecovered: @Sendable () -> Void = {}
    }

    private let state = Lock(State(), rank: .collection)

    // MARK: - Test controls

    func fail(_ operation: Operation, with error: OutboxError?) {
        state.withLock { $0.failures[operation] = error }
    }

    /// Runs `body` before a recovered draft is sent.
    func whenSendingRecovered(_ body: @escaping @Sendable () -> Void) {
        state.withLock { $0.whenSendingRecovered = body }
    }

    /// Makes the core accept a draft during its removal.
    func takeAtRemoval(of draft: Int64) { state.withLock { _ = $0.taken.insert(draft) } }

    func tell(_ change: DraftChange) {
        for stream in state.withLock({ $0.streams }) { stream.yield(change) }
    }

    /// Ends all streams, like a shutdown.
    func end() { for stream in state.withLock({ $0.streams }) { stream.finish() } }

    var acknowledged: [Int64] { state.withLock { $0.acknowledged } }
    var retried: [Int64] { state.withLock { $0.retried } }
    var failedOperations: [FailedOperation] { state.withLock { $0.failedOperations } }
    var all: [MemoryDraft] { state.withLock { $0.drafts.values.sorted { $0.id < $1.id } } }

    // MARK: - DraftStore

    func draftFiles() -> [any DraftFile] { all }

    func draftChanges() -> AsyncStream<DraftChange> {
        let (stream, continuation) = AsyncStream.makeStream(of: DraftChange.self)
        state.withLock { $0.streams.append(continuation) }
        return stream
    }

    func availableBytes() -> UInt64 { 1 << 30 }

    func createDraft(named name: [UInt8], in chat: ChatReference) throws(OutboxError) -> any DraftFile {
        try check(.create)
        return try state.withLock { state throws(OutboxError) in
            if state.drafts.values.contains(where: { $0.chat == chat && $0.snapshot.name == name }) {
                throw OutboxError(.nameTaken, "It is there.")
            }
            state.lastID += 1
            let draft = MemoryDraft(id: state.lastID, chat: chat, name: name)
            state.drafts[draft.id] = draft
            return draft
        }
    }

    func createPart(_ path: PartPath, in chat: ChatReference) throws(OutboxError) -> any DraftFile {
        try createDraft(named: path.bytes, in: chat)
    }

    func complete(
        _ archive: Int64, named name: [UInt8], of parts: [PartVersion], evenIncomplete: Bool
    ) throws(OutboxError) {
        try check(.complete)
        let known = state.withLock { state in parts.compactMap { state.drafts[$0.id] } }
        guard known.count == parts.count,
            known.allSatisfy({ $0.partState == .complete || (evenIncomplete && $0.partState != .open) })
        else { throw OutboxError.immutable }
        for part in parts { try remove(part.id, evenAtTheCore: true) }
        try rename(archive, to: name, by: 0)
    }

    func note(_ failure: FailedOperation, by thread: pid_t) {
        state.withLock { $0.failedOperations.append(failure) }
    }

    func rename(_ draft: Int64, to name: [UInt8], by thread: pid_t) throws(OutboxError) {
        try check(.rename)
        let (renamed, replaced) = state.withLock { state in
            let draft = state.drafts[draft]
            let other = state.drafts.values.first { $0.chat == draft?.chat && $0.snapshot.name == name }
            if let other { state.drafts[other.id] = nil }
            return (draft, other)
        }
        guard let renamed else { throw OutboxError.immutable }
        replaced?.change { $0.state = .removed }
        renamed.change { $0.name = name }
    }

    func rename(_ parts: [(id: Int64, path: PartPath)]) throws(OutboxError) {
        for part in parts { try rename(part.id, to: part.path.bytes, by: 0) }
    }

    func remove(_ draft: Int64, evenAtTheCore: Bool) throws(OutboxError) {
        try check(.remove)
        if state.withLock({ $0.taken.remove(draft) != nil }) {
            state.withLock { $0.drafts[draft] }?.change { $0.state = .sending }
        }
        guard evenAtTheCore || state.withLock({ $0.drafts[draft]?.state != .sending }) else {
            throw OutboxError.immutable
        }
        guard let removed = state.withLock({ $0.drafts.removeValue(forKey: draft) }) else {
            throw OutboxError.immutable
        }
        removed.change { $0.state = .removed }
    }

    func retry(_ draft: Int64) throws(OutboxError) -> Bool {
        try check(.retry)
        return state.withLock { state in
            guard let found = state.drafts[draft], [.failed, .unsure].contains(found.state) else {
                return false
            }
            state.retried.append(draft)
            return true
        }
    }

    func send(recovered draft: Int64, named name: [UInt8]) throws(OutboxError) -> Bool {
        state.withLock { $0.whenSendingRecovered }()
        try check(.retry)
        guard let found = state.withLock({ $0.drafts[draft] }), found.state == .recovered else {
            return false
        }
        found.change { ($0.state, $0.name) = (.draft, name) }
        state.withLock { $0.retried.append(draft) }
        return true
    }

    func look(with isEntry: @escaping @Sendable ([UInt8], ChatReference) -> Bool) {}

    func acknowledge(_ draft: Int64) throws(OutboxError) {
        try check(.acknowledge)
        state.withLock { state in
            state.acknowledged.append(draft)
            state.drafts[draft] = nil
        }
    }

    func synchronise() throws(OutboxError) { try check(.synchronise) }
    func retryPostponed() {}
    func close() {}

    func sendAgain(_ item: ChatItem, from source: FileSourceLocation) async throws(ChatError) -> ChatItem {
        item
    }

    private func check(_ operation: Operation) throws(OutboxError) {
        if let error = state.withLock({ $0.failures[operation] }) { throw error }
    }
}

/// A draft of `MemoryDrafts`.
final class MemoryDraft: DraftFile {
    enum Operation: Hashable, CaseIterable {
        case open, read, write, truncate, synchronise, setModified, setCaption
    }

    private struct State {
        var snapshot: DraftSnapshot
        var bytes: [UInt8] = []
        var failures: [Operation: OutboxError] = [:]
        var unfinished: Set<Int> = [0]
        var lastOpening = 0
        var holds = 0
        var beforeOpening: @Sendable () -> Void = {}
        var looks = 0
    }

    let id: Int64
    let chat: ChatReference
    private let current: Lock<State>

    init(id: Int64, chat: ChatReference, name: [UInt8]) {
        (self.id, self.chat) = (id, chat)
        current = Lock(
            State(
                snapshot: DraftSnapshot(
                    name: name, size: 0, modified: Timestamp(seconds: 1), caption: "", state: .draft,
                    problem: nil)))
    }

    // MARK: - Test controls

    func fail(_ operation: Operation, with error: OutboxError?) {
        current.withLock { $0.failures[operation] = error }
    }

    func change(_ body: (inout DraftSnapshot) -> Void) { current.withLock { body(&$0.snapshot) } }

    /// Sets a callback for the moment between lookup and open; called once.
    func beforeOpening(_ body: @escaping @Sendable () -> Void) {
        current.withLock { $0.beforeOpening = body }
    }

    var holds: Int { current.withLock { $0.holds } }
    var bytes: [UInt8] { current.withLock { $0.bytes } }
    /// Number of reads of its state.
    var looks: Int { current.withLock { $0.looks } }

    // MARK: - DraftFile

    var snapshot: DraftSnapshot {
        current.withLock { state in
            state.looks += 1
            return state.snapshot
        }
    }
    var state: DraftState { snapshot.state }
    var partVersion: PartVersion { PartVersion(id: id, name: snapshot.name, sequence: 0) }
    var partState: PartState {
        current.withLock { state in
            if let problem = state.snapshot.problem { return .incomplete(problem) }
            return state.unfinished.isEmpty ? .complete : .open
        }
    }

    func opened(for access: DraftAccess) throws(OutboxError) -> DraftOpening {
        let before = current.withLock { state in
            defer { state.beforeOpening = {} }
            return state.beforeOpening
        }
        before()
        try check(.open)
        return current.withLock { state in
            if access == .reading { return DraftOpening(.reading, 0) }
            state.lastOpening += 1
            state.unfinished.insert(state.lastOpening)
            return DraftOpening(.writing, state.lastOpening)
        }
    }

    func wasOpened(_ opening: DraftOpening, by thread: pid_t) {}

    func flushed(_ opening: DraftOpening, by thread: pid_t) {
        if opening.access == .writing { current.withLock { _ = $0.unfinished.remove(opening.number) } }
    }

    func closed(_ opening: DraftOpening) { flushed(opening, by: 0) }

    func isFinished(_ opening: DraftOpening) -> Bool {
        opening.access == .reading || current.withLock { !$0.unfinished.contains(opening.number) }
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(OutboxError) -> Int {
        try check(.read)
        let part = bytes.dropFirst(Int(offset)).prefix(buffer.count)
        buffer.copyBytes(from: part)
        return part.count
    }

    func write(
        _ bytes: UnsafeRawBufferPointer, at offset: UInt64, through opening: DraftOpening, by thread: pid_t
    ) throws(OutboxError) {
        try check(.write)
        let end = Int(offset) + bytes.count
        if self.bytes.count < end { resize(to: end) }
        current.withLock { state in
            state.bytes.replaceSubrange(Int(offset)..<end, with: bytes)
            state.unfinished.insert(opening.number)
        }
    }

    func truncate(to size: UInt64, through opening: DraftOpening?, by thread: pid_t) throws(OutboxError) {
        try check(.truncate)
        resize(to: Int(size))
    }

    func synchronise() throws(OutboxError) { try check(.synchronise) }

    func setModified(_ time: Timestamp) throws(OutboxError) {
        try check(.setModified)
        change { $0.modified = time }
    }

    func setCaption(_ caption: String) throws(OutboxError) {
        try check(.setCaption)
        change { $0.caption = caption }
    }

    func hold() -> Bool {
        current.withLock { $0.holds += 1 }
        return true
    }

    func letGo() { current.withLock { $0.holds -= 1 } }

    private func resize(to size: Int) {
        current.withLock { state in
            state.bytes = Array(state.bytes.prefix(size))
            state.bytes += [UInt8](repeating: 0, count: size - state.bytes.count)
            state.snapshot.size = UInt64(size)
        }
    }

    private func check(_ operation: Operation) throws(OutboxError) {
        if let error = current.withLock({ $0.failures[operation] }) { throw error }
    }
}
