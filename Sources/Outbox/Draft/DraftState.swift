import Base
import ChatCore

/// Where an outgoing file stands.
public enum DraftState: String, Hashable, Sendable {
    /// Its bytes may still change: it is being written, waits for the quiet time, or stays local.
    case draft
    /// Durable and complete, waits to be handed to the core. Becomes a draft again when it is opened
    /// for writing.
    case queued
    /// Being handed to the core; immutable.
    case sending
    /// The core has it, the outbox has forgotten it but for its item.
    case sent
    /// The core refused it for good; `problem` says why. Becomes a draft again when it is opened for
    /// writing.
    case failed
    /// It cannot be known whether the core has it. Never sent again by itself: `Outbox.retry`, when the
    /// user says so.
    case unsure
    /// Was being written when the process or the machine stopped, or was incomplete and left alone. Never sent;
    /// readable, removable.
    case recovered
    /// Removed, replaced or dropped. Who has it open or holds it can go on reading and writing its bytes.
    case removed
}

extension DraftState {
    /// Whether its bytes may change, for who has it open for writing.
    public var isEditable: Bool { self == .draft || self == .removed }
}

/// A draft at one moment. Taken from memory, without waiting for files.
public struct DraftSnapshot: Hashable, Sendable {
    /// The exact bytes that its writer used; valid UTF-8, at most 255 bytes.
    public var name: [UInt8]
    /// Length of the plaintext in bytes.
    public var size: UInt64
    /// What the writer set, else the time of the last write.
    public var modified: Timestamp
    /// The text that goes with the file, `user.chatfs.caption`.
    public var caption: String
    public var state: DraftState
    /// Why it is not sent: `user.chatfs.error`. Nil when nothing is wrong.
    public var problem: String?
    /// It may be unfinished, and is not sent before its user says so.
    public var isHeld: Bool

    public init(
        name: [UInt8], size: UInt64, modified: Timestamp, caption: String, state: DraftState,
        problem: String?,
        isHeld: Bool = false
    ) {
        self.isHeld = isHeld
        self.name = name
        self.size = size
        self.modified = modified
        self.caption = caption
        self.state = state
        self.problem = problem
    }
}

/// What a file description may be used for.
public enum DraftAccess: Sendable {
    case reading
    /// Also when it may read as well.
    case writing
}
