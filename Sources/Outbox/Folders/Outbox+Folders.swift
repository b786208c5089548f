import Base
import ChatCore

/// Folders that are sent as one archive. The parts are journalled drafts that are not sent; the archive is
/// another draft, which replaces all parts in one transaction.
extension Outbox {
    /// Creates an empty part, or the archive of a folder, opened for writing (`DraftOpening.ofItsMaker`).
    /// Blocks.
    /// - Throws: As `create(name:in:)`.
    public func create(part path: PartPath, in chat: ChatReference) throws(OutboxError) -> Draft {
        try path.require()
        return try make(path.bytes, in: chat)
    }

    /// Renames a folder or a subfolder by renaming all parts, also to names that other parts release. The
    /// change is atomic. Blocks.
    /// - Throws: `nameTooLong`, `invalidName` for an invalid path; `nameTaken` if another part has a path or
    ///   two parts get the same; `notPermitted` unless all are drafts; `noSpace`, `storage`. Without any
    ///   change then.
    public func rename(_ moves: [(part: Draft, path: PartPath)]) throws(OutboxError) {
        for move in moves { try move.path.require() }
        for moves in Dictionary(grouping: moves, by: { $0.part.chat }).values {
            guard Set(moves.map { $0.path }).count == moves.count else { throw Self.nameTaken }
        }
        let moving = Set(moves.map(\.part.id))
        try naming.withLock { () throws(OutboxError) in
            for (part, path) in moves {
                guard let other = directory.draft(named: path.bytes, in: part.chat) else { continue }
                guard moving.contains(other.id) else { throw Self.nameTaken }
            }
            let involved = moves.map(\.part).sorted { $0.id < $1.id }
            for one in involved { one.mutex.lock() }
            defer { for one in involved.reversed() { one.mutex.unlock() } }
            let before = moves.map { $0.part.snapshot.name }
            var prepared: [PreparedTransition] = []
            for (part, path) in moves { prepared.append(try part.prepare(.renamed(path.bytes))) }
            try context.perform(prepared)
            directory.rename(zip(before, moves).map { (draft: $1.part, old: $0, name: $1.path.bytes) })
        }
    }

    /// Replaces the parts of a folder by their complete, closed archive, which gets its final name. The
    /// change is atomic and durable. Blocks.
    /// - Parameters:
    ///   - versions: The parts as they were before they were read.
    ///   - evenIncomplete: If true, accepts incomplete parts, by the user's decision.
    /// - Throws: `notPermitted` if a part has changed or is open for writing; `nameTaken`, `noSpace`,
    ///   `storage`.
    public func complete(
        _ archive: Draft, named name: [UInt8], of versions: [PartVersion], evenIncomplete: Bool = false
    ) throws(OutboxError) {
        try DraftName.requireValid(name)
        let parts = versions.compactMap { draft($0.id) }
        guard parts.count == versions.count else { throw OutboxError.changed }
        try archive.synchronise()
        try naming.withLock { () throws(OutboxError) in
            guard directory.draft(named: name, in: archive.chat) == nil else { throw Self.nameTaken }
            let involved = (parts + [archive]).sorted { $0.id < $1.id }
            for one in involved { one.mutex.lock() }
            defer { for one in involved.reversed() { one.mutex.unlock() } }
            guard
                parts.allSatisfy({ $0.machine.isClosedPart && (evenIncomplete || $0.machine.isCompletePart) })
            else { throw OutboxError.changed }
            // A part that was written again differs from the archive.
            guard parts.map(\.partVersion) == versions else { throw OutboxError.changed }
            let old = archive.snapshot.name
            var prepared: [PreparedTransition] = []
            for part in parts { prepared.append(try part.prepare(.replaced)) }
            prepared.append(try archive.prepare(.renamed(name)))
            // The bytes of the parts are deleted next, so their rows must not return after a power cut.
            try context.perform(prepared, durably: true)
            directory.rename(archive, from: old, to: name, replacing: nil)
            for part in parts { directory.remove(part) }
        }
    }
}

extension OutboxError {
    fileprivate static var changed: OutboxError {
        OutboxError(.notPermitted, "The folder was changed while its archive was made.")
    }
}

/// A version of a part; changes with each close after a write and with each rename.
public struct PartVersion: Hashable, Sendable {
    /// Id of the draft.
    public let id: Int64
    let name: [UInt8]
    /// Sequence number of the last close.
    let sequence: Int64

    public init(id: Int64, name: [UInt8], sequence: Int64) {
        self.id = id
        self.name = name
        self.sequence = sequence
    }

    /// Returns true if this version was closed after the other one; false while `other` is open.
    public func wasClosed(after other: PartVersion) -> Bool {
        other.sequence != 0 && sequence > other.sequence
    }
}

/// The state of a part.
public enum PartState: Hashable, Sendable {
    /// Open for writing, or possibly unfinished.
    case open
    case complete
    /// A write failed or the writer was killed; with a sentence for the user.
    case incomplete(String)
}

extension Draft {
    /// From memory.
    public var partState: PartState { machine.partState }

    /// From memory.
    public var partVersion: PartVersion {
        let record = machine.record
        return PartVersion(id: id, name: record.name, sequence: record.sequence)
    }
}

extension DraftMachine {
    var partState: PartState {
        if state == .recovered {
            return .incomplete(record.problem ?? "A file of it was being written when ChatFS stopped.")
        }
        guard isClosedPart else { return .open }
        return isCompletePart ? .complete : .incomplete(record.reasonToStay ?? "")
    }

    var isClosedPart: Bool {
        switch phase {
        case .quiet, .local: writers.isEmpty
        case .writing, .written, .staging, .queued, .sending, .sent, .acknowledged, .failed, .unsure,
            .recovered,
            .withdrawn, .removed:
            false
        }
    }

    var isCompletePart: Bool { isClosedPart && record.gap == nil && record.hold == nil }
}
