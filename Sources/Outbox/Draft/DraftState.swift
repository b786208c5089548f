import Base
import ChatCore

/// The state of an outgoing file.
public enum DraftState: String, CaseIterable, Hashable, Sendable {
    /// Its bytes may change: it is being written, in its quiet time, or local.
    case draft
    /// Durable and complete, waiting for the core. Opening it for writing makes it a draft again.
    case queued
    /// Being handed to the core; immutable.
    case sending
    /// The core has it; the outbox keeps only the item.
    case sent
    /// The core refused it permanently; `problem` has the reason. Opening it for writing makes it a draft
    /// again.
    case failed
    /// The core may or may not have it. Never resent automatically; `Outbox.retry` needs the user's decision.
    case unsure
    /// Unfinished when the process or the machine stopped, or incomplete and untouched. Not sent; readable
    /// and removable.
    case recovered
    /// Removed, replaced or expired. Open handles and holders can still read and write its bytes.
    case removed
}

extension DraftState {
    /// True if open handles may change the bytes.
    public var isEditable: Bool { self == .draft || self == .removed }

    /// True while the outbox keeps the file for its user: neither sent nor removed.
    public var isKept: Bool {
        switch self {
        case .draft, .queued, .sending, .failed, .unsure, .recovered: true
        case .sent, .removed: false
        }
    }
}

/// A draft at one moment, from memory.
public struct DraftSnapshot: Hashable, Sendable {
    /// The exact bytes of the writer's name; valid UTF-8, at most 255 bytes.
    public var name: [UInt8]
    /// Length of the plaintext in bytes.
    public var size: UInt64
    /// The time set by the writer, or of the last write.
    public var modified: Timestamp
    /// The text of the message, `user.chatfs.caption`.
    public var caption: String
    public var state: DraftState
    /// The reason why it is not sent, `user.chatfs.error`; nil without a problem.
    public var problem: String?
    /// True if it may be unfinished and needs the user's decision.
    public var isHeld: Bool
    /// The next step, if nothing is wrong.
    public var wait: DraftWait?

    public init(
        name: [UInt8], size: UInt64, modified: Timestamp, caption: String, state: DraftState,
        problem: String?,
        isHeld: Bool = false, wait: DraftWait? = nil
    ) {
        self.wait = wait
        self.isHeld = isHeld
        self.name = name
        self.size = size
        self.modified = modified
        self.caption = caption
        self.state = state
        self.problem = problem
    }
}

/// Access of a file handle.
public enum DraftAccess: Sendable {
    case reading
    /// Writing, with or without reading.
    case writing
}
