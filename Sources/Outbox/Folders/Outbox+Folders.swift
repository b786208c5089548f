import Base
import ChatCore

/// Folders that are sent as one archive each. Their parts are drafts that nobody sends, kept and journalled like all
/// others; the archive is one more, until it takes the place of all of them in one transaction.
extension Outbox {
    /// Makes an empty part, or the archive of a folder, opened for writing once (`DraftOpening.ofItsMaker`). Blocks.
    /// - Throws: as `create(name:in:)`.
    public func create(part path: PartPath, in chat: ChatReference) throws(OutboxError) -> Draft {
        try path.require()
        return try make(path.bytes, in: chat)
    }

    /// A folder, or one in it, has another name: all its parts get the paths that follow from that, also such as others
    /// of them give up. Either all of that survives whatever happens, or nothing of it. Blocks.
    /// - Throws: `nameTooLong`, `invalidName` for a path that cannot be; `nameTaken` where another part has one, or
    ///   two are to get the same; `notPermitted` unless all are drafts still; `noSpace`, `storage`. Then nothing has
    ///   changed.
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

    /// The archive of a folder is complete and closed: it gets the name under which it is sent, and the parts that
    /// are in it go. Either all of that survives whatever happens, or nothing of it. Blocks.
    /// - Parameter evenIncomplete: also parts of which something is missing: their user wants them as they are.
    /// - Throws: `notPermitted` when somebody has changed a part since, or has one open for writing; `nameTaken`,
    ///   `noSpace`, `storage`.
    /// - Parameter versions: of the parts, taken before they were read.
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
            // Written and closed meanwhile, it is another one than the archive has.
            guard parts.map(\.partVersion) == versions else { throw OutboxError.changed }
            let old = archive.snapshot.name
            var prepared: [PreparedTransition] = []
            for part in parts { prepared.append(try part.prepare(.replaced)) }
            prepared.append(try archive.prepare(.renamed(name)))
            // The bytes of the parts go with their rows: no power cut may bring those back.
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

/// A part of a folder at one moment: another one after it was written and closed, or renamed.
public struct PartVersion: Hashable, Sendable {
    /// The draft's.
    public let id: Int64
    let name: [UInt8]
    /// Of its last close.
    let sequence: Int64

    public init(id: Int64, name: [UInt8], sequence: Int64) {
        self.id = id
        self.name = name
        self.sequence = sequence
    }

    /// Whether it was closed later than the other one; false while that one is not closed.
    public func wasClosed(after other: PartVersion) -> Bool {
        other.sequence != 0 && sequence > other.sequence
    }
}

/// How far a part of a folder is.
public enum PartState: Hashable, Sendable {
    /// Somebody is writing it, or may be.
    case open
    case complete
    /// A write failed, or its writer was killed; why, for the user.
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
        default: false
        }
    }

    var isCompletePart: Bool { isClosedPart && record.gap == nil && record.hold == nil }
}
