import Base
import ChatCore
import Cryptography

/// A file that is being sent: from the moment its name is made until the core has it.
///
/// `snapshot`, `state` and `setCaption`'s checks come from memory; everything else blocks on files and
/// on the journal. Any thread; operations of one draft take turns, reads run beside them.
///
/// Every file description that is opened for it calls `opened`, `flushed` whenever a descriptor of it is closed,
/// and `closed` when it is released; only in between may it be read and written.
public final class Draft: Sendable {
    /// Never used for another draft of the profile.
    public let id: Int64
    public let chat: ChatReference

    enum Phase: Sendable {
        case draft
        /// Being copied into a CryptoFile; what changes it meanwhile makes that copy worthless.
        case staging
        case queued
        case sending
        case sent
        case failed
        case unsure
        case recovered
        case removed
    }

    struct Record: Sendable {
        var entry: Journal.Entry
        var phase: Phase
        var writers = DraftWriters()
        var readers = 0
        /// Who may come back for a removed draft, see `hold`.
        var holders = 0
        /// Its bytes are removed.
        var isGone = false
        /// Open while somebody has the draft open or it is being staged.
        var file: SealedFile?
        /// Counts what makes a copy made before worthless.
        var version = 0
        /// Queued by an earlier process, which may have handed it over and died before noting it: the core
        /// would answer a new content with the item of the old one.
        var mayBeHandedOver = false
        /// What is copied along with a writer.
        var following = Following()
        /// Handed over unsuccessfully so far, since it was queued.
        var tries = 0
    }

    let room: Workroom
    let turn = Turn()
    let record: Lock<Record>

    init(_ entry: Journal.Entry, phase: Phase, mayBeHandedOver: Bool = false, room: Workroom) {
        id = entry.id
        chat = entry.chat
        self.room = room
        record = Lock(Record(entry: entry, phase: phase, mayBeHandedOver: mayBeHandedOver))
    }

    deinit { room.freeMemory.noteGone() }

    public var snapshot: DraftSnapshot {
        let seen = room.seen.seconds
        return record.withLock { record in
            DraftSnapshot(
                name: record.entry.name, size: record.entry.size, modified: record.entry.modified,
                caption: record.entry.caption, state: record.state,
                problem: record.problem(seen: seen))
        }
    }

    /// Nobody writes it, and yet it is not sent by itself.
    var staysLocal: Bool {
        record.withLock { $0.phase == .draft && $0.writers.isEmpty && $0.reasonToStay != nil }
    }

    public var state: DraftState { record.withLock { $0.state } }

    // MARK: - Reading

    /// Fills `buffer` from `offset` on; fewer bytes only at the end. `damaged` when the bytes on disk are
    /// not those that were written.
    public func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64
    ) throws(OutboxError) -> Int {
        try described { try borrowFile { try $0.read(into: buffer, at: offset) } }
    }

    /// The spool file, opened for the moment when nobody has the draft open.
    func borrowFile<Result>(_ body: (SealedFile) throws -> Result) throws -> Result {
        let (file, entry) = record.withLock { ($0.file, $0.entry) }
        if let file { return try body(file) }
        return try body(try room.spool.open(entry.spool, key: entry.key))
    }

    // MARK: - Attributes

    /// The time that the file shows and that goes with the message. Succeeds in every state and never
    /// sends anything again; once the message is out the outbox only passes it on.
    public func setModified(_ time: Timestamp) throws(OutboxError) {
        try change { $0.modified = time }
    }

    /// The text that goes with the file. `notPermitted` once it is on its way.
    public func setCaption(_ caption: String) throws(OutboxError) {
        guard [.draft, .queued, .failed].contains(state) else { throw OutboxError.immutable }
        try change { $0.caption = caption }
    }

    private func change(_ body: (inout Journal.Entry) -> Void) throws(OutboxError) {
        try turn.with { () throws(OutboxError) in
            let (entry, isKept) = record.withLock { record in
                body(&record.entry)
                return (record.entry, record.phase != .removed)
            }
            if isKept { try described { try room.journal.apply([entry]) } }
        }
    }
}

extension Draft {
    /// Closed and complete, and not with the core.
    var isWaiting: Bool {
        record.withLock { record in
            [.draft, .staging, .queued].contains(record.phase) && record.writers.isEmpty
                && record.entry.isWaiting
        }
    }
}

extension Journal.Entry {
    /// By its row: one that will be sent, but was not yet.
    var isWaiting: Bool {
        switch state {
        case .queued: true
        case .closed: Draft.Record(entry: self, phase: .draft).reasonToStay == nil
        case .open, .sent, .failed, .unsure, .recovered: false
        }
    }
}

extension Draft.Record {
    var state: DraftState {
        switch phase {
        case .draft, .staging: .draft
        case .queued: .queued
        case .sending: .sending
        case .sent: .sent
        case .failed: .failed
        case .unsure: .unsure
        case .recovered: .recovered
        case .removed: .removed
        }
    }

    /// Why a closed draft is not sent by itself, nil when it is.
    var reasonToStay: String? {
        switch entry.gap {
        case .failedWrite:
            return "A write into this file failed, so it is incomplete and not sent: write it again."
        case .killedWriter:
            return "The program that wrote this file was killed, so it may be incomplete and is not sent: "
                + "write it again, or use chatfs retry to send it as it is."
        case nil: break
        }
        if TemporaryName.matches(entry.name) {
            return "This name looks like a temporary file, so it stays here and is not sent. "
                + "Rename it to send it."
        }
        if entry.size == 0 {
            return "An empty file is not sent by itself: write something into it or use chatfs send."
        }
        return nil
    }
}

extension Draft: Hashable {
    public static func == (left: Draft, right: Draft) -> Bool { left === right }
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
