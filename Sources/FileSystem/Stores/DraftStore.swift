import Base
import ChatCore
import Glibc
import Outbox
import Posix

/// Stores and sends drafts: the outbox, or memory in tests.
///
/// When a method returns, its effect survives a kill of the process. When it throws, nothing has changed, except that a
/// failed write leaves the draft incomplete. A draft keeps its number. Its state changes only along the transitions in
/// `docs/dev/draft-states.md`, but possibly between any two calls, and each call is checked against the state of its own
/// moment. A removed draft keeps its bytes while it is open or held. Every change not made through the draft itself is
/// reported once, in order; `became` is reported again by the next process until `acknowledge`.
///
/// Thread-safe. Methods that block on the disk say so; the others never wait.
public protocol DraftStore: Sendable {
    /// Returns all known drafts by age, including `sent` ones not yet acknowledged and `recovered` ones.
    func draftFiles() -> [any DraftFile]
    /// Returns a new stream of all changes from now on. It ends when the store shuts down.
    func draftChanges() -> AsyncStream<DraftChange>
    /// Returns the bytes available to a new draft; 0 if unknown. Blocks briefly.
    func availableBytes() -> UInt64

    /// Creates an empty draft, opened for writing once (`DraftOpening.ofItsMaker`). Blocks.
    /// - Parameter name: The exact bytes of the writer's name.
    /// - Throws: `invalidName`, `nameTooLong`, `nameTaken`, `noSpace`, `shuttingDown`, `storage`.
    func createDraft(named name: [UInt8], in chat: ChatReference) throws(OutboxError) -> any DraftFile
    /// Creates an empty part of a pasted folder, or the folder's archive. Parts are not sent. Blocks.
    /// - Throws: As `createDraft`.
    func createPart(_ path: PartPath, in chat: ChatReference) throws(OutboxError) -> any DraftFile
    /// Gives a complete and closed archive its final name and removes its parts, in one transaction. Blocks.
    /// - Throws: `notPermitted` if a part changed since or is incomplete (unless `evenIncomplete`), `nameTaken`,
    ///   `noSpace`, `storage`.
    func complete(
        _ archive: Int64, named name: [UInt8], of parts: [PartVersion], evenIncomplete: Bool)
        throws(OutboxError)
    /// Renames a draft, replacing and removing a draft of that name; moves a part to another path. Blocks.
    /// - Parameter thread: The thread that waits for the rename; 0 if unknown.
    /// - Throws: `notPermitted` unless both are editable drafts, `invalidName`, `nameTooLong`, `noSpace`, `storage`.
    func rename(_ draft: Int64, to name: [UInt8], by thread: pid_t) throws(OutboxError)
    /// Records that an operation fails for `thread`, which waits for the answer. The effect on drafts is complete on
    /// return. Blocks briefly.
    func note(_ failure: FailedOperation, by thread: pid_t)
    /// Moves parts of a pasted folder to other paths, all or none. Blocks.
    /// - Throws: `notPermitted` unless all are editable drafts, `nameTaken`, `invalidName`, `nameTooLong`, `noSpace`,
    ///   `storage`.
    func rename(_ parts: [(id: Int64, path: PartPath)]) throws(OutboxError)
    /// Removes a draft, which is not sent. A draft that the core is accepting is cancelled there, by this process only.
    /// Blocks.
    /// - Parameter evenAtTheCore: If true, also removes a draft that the core is accepting.
    /// - Throws: `notPermitted` for a sent draft, `noSpace`, `storage`.
    func remove(_ draft: Int64, evenAtTheCore: Bool) throws(OutboxError)
    /// Retries a draft that was refused, is unsure, may be unfinished or has the name of a temporary file. Returns
    /// false for any other draft. Blocks.
    /// - Throws: `noSpace`, `storage`.
    func retry(_ draft: Int64) throws(OutboxError) -> Bool
    /// Sends a recovered draft to its original chat. Returns false for any other draft. Blocks.
    /// - Parameter name: A free name in the chat's folder.
    /// - Throws: `invalidName`, `nameTooLong`, `nameTaken`, `noSpace`, `storage`.
    func send(recovered draft: Int64, named name: [UInt8]) throws(OutboxError) -> Bool
    /// Sets the check whether a name in a chat's folder belongs to something other than a draft. Called once, before
    /// drafts are sent.
    func look(with isEntry: @escaping @Sendable ([UInt8], ChatReference) -> Bool)
    /// Forgets a sent draft and its bytes, after its node was recorded as its item's. Blocks.
    /// - Throws: `noSpace`, `storage`.
    func acknowledge(_ draft: Int64) throws(OutboxError)
    /// Makes the record of sent drafts durable. Blocks.
    /// - Throws: `noSpace`, `storage`.
    func synchronise() throws(OutboxError)

    /// Retries postponed hand-overs at once.
    func retryPostponed()
    /// Sends the file of a message whose upload failed for good, in a new message. Idempotent: a repeated call returns
    /// the existing message.
    /// - Throws: `.noSuchFile` if the file is gone, or the core's refusal.
    func sendAgain(_ item: ChatItem, from source: FileSourceLocation) async throws(ChatError) -> ChatItem
    /// Closes the store, after all other calls. Blocks.
    func close()
}

extension DraftStore {
    /// Removes a draft even if the core is accepting it.
    func remove(_ draft: Int64) throws(OutboxError) { try remove(draft, evenAtTheCore: true) }

    /// Removes the empty draft of a failed creation. If that fails, the next mount drops the remains, and their name
    /// cannot be created before.
    func removeRemains(of draft: any DraftFile) {
        do throws(OutboxError) {
            try remove(draft.id)
        } catch {
            Log("filesystem").warning("draft of a failed creation not removed: error=\(error.sentence)")
        }
    }

    /// Renames without a kernel request.
    func rename(_ draft: Int64, to name: [UInt8]) throws(OutboxError) { try rename(draft, to: name, by: 0) }
}

/// A file being sent. Each opening calls `opened`, `flushed` for each closed descriptor, and `closed` on release. Reads
/// and writes are valid only between `opened` and `closed`.
public protocol DraftFile: AnyObject, Sendable {
    /// Unique in the profile; never reused.
    var id: Int64 { get }
    var chat: ChatReference { get }
    /// The current state; from memory.
    var snapshot: DraftSnapshot { get }
    var state: DraftState { get }
    /// State of a part of a pasted folder; from memory.
    var partState: PartState { get }
    /// Version of the content; from memory.
    var partVersion: PartVersion { get }

    /// Opens the draft. Blocks.
    /// - Throws: `notPermitted` for writing a draft that is being sent or was recovered, `gone`, `damaged`, `noSpace`,
    ///   `storage`.
    func opened(for access: DraftAccess) throws(OutboxError) -> DraftOpening
    /// Records the process that opens the draft for writing; its end tells whether the draft is finished. Blocks briefly.
    /// - Parameter thread: The thread that waits for the handle; 0 if unknown.
    func wasOpened(_ opening: DraftOpening, by thread: pid_t)
    /// Records the close of a descriptor. On return, earlier writes survive a kill of the process. Blocks.
    /// - Parameter thread: The thread that waits for its close; 0 if unknown.
    func flushed(_ opening: DraftOpening, by thread: pid_t)
    /// Ends an opening. Blocks.
    func closed(_ opening: DraftOpening)
    /// Returns true unless a program may be in the middle of writing through `opening`; from memory.
    func isFinished(_ opening: DraftOpening) -> Bool

    /// Fills `buffer` from `offset`; fewer bytes only at the end. Blocks.
    /// - Throws: `damaged`, `storage`.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(OutboxError) -> Int
    /// Writes all of `bytes` or nothing. Blocks.
    /// - Parameter thread: The thread of write(2); 0 if unknown.
    /// - Throws: `tooLarge`, `noSpace`, `notPermitted`, `storage`.
    func write(
        _ bytes: UnsafeRawBufferPointer, at offset: UInt64, through opening: DraftOpening, by thread: pid_t
    ) throws(OutboxError)
    /// Sets the size in bytes. Blocks.
    /// - Parameters:
    ///   - opening: nil for truncation by path.
    ///   - thread: The thread of ftruncate(2); 0 if unknown.
    /// - Throws: As `opened` and `write`.
    func truncate(to size: UInt64, through opening: DraftOpening?, by thread: pid_t) throws(OutboxError)
    /// Makes earlier writes durable. Blocks.
    /// - Throws: `noSpace`, `storage`.
    func synchronise() throws(OutboxError)
    /// Blocks.
    /// - Throws: `noSpace`, `storage`.
    func setModified(_ time: Timestamp) throws(OutboxError)
    /// Blocks.
    /// - Throws: `notPermitted` once the draft is being sent, `noSpace`, `storage`.
    func setCaption(_ caption: String) throws(OutboxError)

    /// Retains the bytes until `letGo`, even after removal. Returns false if they are already gone; from memory.
    func hold() -> Bool
    /// Ends a `hold`. Blocks if it was the last use of a removed draft.
    func letGo()
}

/// A change of a draft that was not made through the draft.
public enum DraftChange: Sendable {
    /// Its state or its problem changed.
    case changed(any DraftFile)
    /// The core accepted the draft as this item.
    case became(any DraftFile, ChatItem)
    /// Removed: it was empty and unused for seven days, or its item was deleted before it was known.
    case removed(any DraftFile)
    /// Abandoned: it moved to the recovered folder.
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

    // A draft unknown to the outbox is the core's, or gone.

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
