import Base
import ChatCore
import Glibc
import Outbox

/// Where drafts are kept and sent: the outbox, or memory in tests.
///
/// What is told is true: when a method returns, what it did survives a kill of the process; when it throws, nothing
/// has changed, but for a write, which leaves the draft incomplete. A draft keeps its number; its state only changes as `docs/architecture.md` draws it. It may
/// change at any moment, also between two calls: each call is refused by the state at its own moment. A removed draft
/// keeps its bytes for who has it open or holds it. Every change that nobody made through the draft itself is told
/// once, in the order in which they happened; `became` is told again by the next process until `acknowledge`.
///
/// Any thread. What blocks on the disk says so; nothing else waits.
public protocol DraftStore: Sendable {
    /// All that are known, by age: also what is `sent` and not acknowledged, and what was `recovered`.
    func draftFiles() -> [any DraftFile]
    /// Each call opens a stream of its own, with everything from then on; it ends when the store is shut down.
    func draftChanges() -> AsyncStream<DraftChange>
    /// Bytes that a new draft can have at present, 0 when that is not known. Blocks shortly.
    func availableBytes() -> UInt64

    /// Makes an empty draft, opened for writing once (`DraftOpening.ofItsMaker`). Blocks.
    /// - Parameter name: the exact bytes that its writer used.
    /// - Throws: `invalidName`, `nameTooLong`, `nameTaken`, `noSpace`, `shuttingDown`, `storage`.
    func createDraft(named name: [UInt8], in chat: ChatReference) throws(OutboxError) -> any DraftFile
    /// Makes an empty part of a folder, or the archive that is made of one, as `createDraft`. Nobody sends it. Blocks.
    /// - Throws: as `createDraft`.
    func createPart(_ path: PartPath, in chat: ChatReference) throws(OutboxError) -> any DraftFile
    /// The archive of a folder is complete and closed: it gets the name under which it is sent, and the parts that
    /// are in it go, whatever happens all of that or nothing. Blocks.
    /// - Throws: `notPermitted` when a part was changed since, or is not complete (unless that does not matter),
    ///   `nameTaken`, `noSpace`, `storage`.
    func complete(
        _ archive: Int64, named name: [UInt8], of parts: [PartVersion], evenIncomplete: Bool)
        throws(OutboxError)
    /// An existing draft of that name is replaced and removed; a part gets another path. Blocks.
    /// - Parameter thread: who renames and waits for the answer, 0 when the kernel does not say.
    /// - Throws: `notPermitted` unless both are drafts still, `invalidName`, `nameTooLong`, `noSpace`, `storage`.
    func rename(_ draft: Int64, to name: [UInt8], by thread: pid_t) throws(OutboxError)
    /// An operation has failed for `thread`, which waits for the answer: what that says about drafts is noted when this
    /// returns. Blocks for a moment.
    func note(_ failure: FailedOperation, by thread: pid_t)
    /// Parts of a folder get other paths, all of them or none. Blocks.
    /// - Throws: `notPermitted` unless all are drafts still, `nameTaken`, `invalidName`, `nameTooLong`, `noSpace`,
    ///   `storage`.
    func rename(_ parts: [(id: Int64, path: PartPath)]) throws(OutboxError)
    /// Nothing of it is sent; what the core is just taking is cancelled there, but only by a process that lives until
    /// then. Blocks.
    /// - Parameter evenAtTheCore: also while the core is taking it.
    /// - Throws: `notPermitted` for one that is sent, `noSpace`, `storage`.
    func remove(_ draft: Int64, evenAtTheCore: Bool) throws(OutboxError)
    /// Sends once more what was refused, is unsure, may be unfinished, or has a name of temporary files. False for any
    /// other. Blocks.
    /// - Throws: `noSpace`, `storage`.
    func retry(_ draft: Int64) throws(OutboxError) -> Bool
    /// Sends what was recovered into the chat that it came from. False for any other. Blocks.
    /// - Parameter name: a free one of its chat's folder.
    /// - Throws: `invalidName`, `nameTooLong`, `nameTaken`, `noSpace`, `storage`.
    func send(recovered draft: Int64, named name: [UInt8]) throws(OutboxError) -> Bool
    /// `isEntry` tells whether something that is no draft has a name in a chat's folder. Called once, before drafts are
    /// sent.
    func look(with isEntry: @escaping @Sendable ([UInt8], ChatReference) -> Bool)
    /// The node of a sent draft has been noted as its item's: it is forgotten, with its bytes. Blocks.
    /// - Throws: `noSpace`, `storage`.
    func acknowledge(_ draft: Int64) throws(OutboxError)
    /// Makes it durable that what was sent is sent. Blocks.
    /// - Throws: `noSpace`, `storage`.
    func synchronise() throws(OutboxError)

    /// What stood in the way of handing drafts over has passed.
    func retryPostponed()
    /// Sends the file of a message whose upload ended for good, in a new message; the same call again gives the
    /// message that is there.
    /// - Throws: `.noSuchFile` when the file is gone; what the core refuses.
    func sendAgain(_ item: ChatItem, from source: FileSourceLocation) async throws(ChatError) -> ChatItem
    /// At the very end. Blocks.
    func close()
}

extension DraftStore {
    /// Whatever the core is doing with it.
    func remove(_ draft: Int64) throws(OutboxError) { try remove(draft, evenAtTheCore: true) }

    /// Without a request of the kernel.
    func rename(_ draft: Int64, to name: [UInt8]) throws(OutboxError) { try rename(draft, to: name, by: 0) }
}

/// A file that is being sent. Each opening calls `opened`, then `flushed` whenever a descriptor of it is closed, and
/// `closed` when it is released; only in between may it be read and written.
public protocol DraftFile: AnyObject, Sendable {
    /// Never used for another draft of the profile.
    var id: Int64 { get }
    var chat: ChatReference { get }
    /// As it is at this moment; from memory.
    var snapshot: DraftSnapshot { get }
    var state: DraftState { get }
    /// Of a part of a folder; from memory.
    var partState: PartState { get }
    /// Which one it is of what it was and will be; from memory.
    var partVersion: PartVersion { get }

    /// Blocks.
    /// - Throws: `notPermitted` for writing once it is on its way, and when it is recovered; `gone`; `damaged`,
    ///   `noSpace`, `storage`.
    func opened(for access: DraftAccess) throws(OutboxError) -> DraftOpening
    /// `thread` waits for its close to be answered; 0 when the kernel does not say which. When this returns, a kill
    /// of the process loses nothing that was written before. Blocks.
    func flushed(_ opening: DraftOpening, by thread: pid_t)
    /// Blocks.
    func closed(_ opening: DraftOpening)
    /// Whether nobody is in the middle of writing through `opening`; from memory.
    func isFinished(_ opening: DraftOpening) -> Bool

    /// Fills `buffer` from `offset` on; fewer bytes only at the end. Blocks.
    /// - Throws: `damaged`, `storage`.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(OutboxError) -> Int
    /// All of `bytes` or nothing. Blocks.
    /// - Parameter thread: whose write(2) it is, 0 when that is not known.
    /// - Throws: `tooLarge`, `noSpace`, `notPermitted`, `storage`.
    func write(
        _ bytes: UnsafeRawBufferPointer, at offset: UInt64, through opening: DraftOpening, by thread: pid_t
    ) throws(OutboxError)
    /// Blocks.
    /// - Parameters:
    ///   - opening: nil where it is named, not opened.
    ///   - thread: whose ftruncate(2) it is, 0 when that is not known.
    /// - Throws: as `opened` and `write`.
    func truncate(to size: UInt64, through opening: DraftOpening?, by thread: pid_t) throws(OutboxError)
    /// What was written so far survives a power cut. Blocks.
    /// - Throws: `noSpace`, `storage`.
    func synchronise() throws(OutboxError)
    /// Blocks.
    /// - Throws: `noSpace`, `storage`.
    func setModified(_ time: Timestamp) throws(OutboxError)
    /// Blocks.
    /// - Throws: `notPermitted` once it is on its way; `noSpace`, `storage`.
    func setCaption(_ caption: String) throws(OutboxError)

    /// Keeps the bytes, also when it is removed, until `letGo`. False when they are gone already; from memory.
    func hold() -> Bool
    /// Blocks where that was the last use of a removed draft.
    func letGo()
}

/// What happened to a draft without its user doing it through the draft.
public enum DraftChange: Sendable {
    /// Its state or its problem is another one.
    case changed(any DraftFile)
    /// The core has taken it: from now on it is this item.
    case became(any DraftFile, ChatItem)
    /// It is gone: empty and left alone for seven days, or its item was deleted before anybody learned of it.
    case removed(any DraftFile)
    /// It was left alone: it has moved to what is recovered.
    case recovered(any DraftFile)
}

extension Draft: DraftFile {}

extension Outbox: DraftStore {
    public func draftFiles() -> [any DraftFile] { drafts() }

    public func draftChanges() -> AsyncStream<DraftChange> {
        let changes = changes()
        let (stream, continuation) = AsyncStream.makeStream(of: DraftChange.self)
        let task = Task {
            for await change in changes {
                switch change {
                case .changed(let draft): continuation.yield(.changed(draft))
                case .became(let draft, let item): continuation.yield(.became(draft, item))
                case .removed(let draft): continuation.yield(.removed(draft))
                case .recovered(let draft): continuation.yield(.recovered(draft))
                }
            }
            continuation.finish()
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }

    public func createDraft(
        named name: [UInt8], in chat: ChatReference
    ) throws(OutboxError) -> any DraftFile { try create(name: name, in: chat) }

    public func createPart(
        _ path: PartPath, in chat: ChatReference
    ) throws(OutboxError) -> any DraftFile { try create(part: path, in: chat) }

    public func complete(
        _ archive: Int64, named name: [UInt8], of parts: [PartVersion], evenIncomplete: Bool
    ) throws(OutboxError) {
        guard let archive = self.draft(archive) else { throw OutboxError.immutable }
        try complete(archive, named: name, of: parts, evenIncomplete: evenIncomplete)
    }

    // A draft that it does not know any more is the core's, or gone.

    public func rename(_ draft: Int64, to name: [UInt8], by thread: pid_t) throws(OutboxError) {
        guard let draft = self.draft(draft) else { throw OutboxError.immutable }
        try rename(draft, to: name, by: thread)
    }

    public func rename(_ parts: [(id: Int64, path: PartPath)]) throws(OutboxError) {
        let moves = parts.compactMap { part in draft(part.id).map { (part: $0, path: part.path) } }
        guard moves.count == parts.count else { throw OutboxError.immutable }
        try rename(moves)
    }

    public func remove(_ draft: Int64, evenAtTheCore: Bool) throws(OutboxError) {
        guard let draft = self.draft(draft) else { throw OutboxError.immutable }
        try remove(draft, evenAtTheCore: evenAtTheCore)
    }

    public func retry(_ draft: Int64) throws(OutboxError) -> Bool {
        guard let draft = self.draft(draft) else { return false }
        return try retry(draft)
    }

    public func send(recovered draft: Int64, named name: [UInt8]) throws(OutboxError) -> Bool {
        guard let draft = self.draft(draft) else { return false }
        return try send(recovered: draft, named: name)
    }

    public func acknowledge(_ draft: Int64) throws(OutboxError) {
        if let draft = self.draft(draft) { try acknowledge(draft) }
    }
}
