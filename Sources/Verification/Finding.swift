import Base

/// A defect of a data directory.
public struct Finding: Codable, Hashable, Sendable {
    public enum Kind: String, Codable, Hashable, Sendable, CaseIterable {
        /// A database with a wrong page, index or reference.
        case database
        /// A file whose bytes changed.
        case damaged
        /// A file whose bytes are those that arrived, but its sender described others.
        case contradictory
        /// A file that a message, a link or a draft refers to and the disk lacks.
        case missing
        /// A file without a reference.
        case stray
        /// A file or directory whose mode grants access to other users.
        case exposed
        /// A file that is no archive, or an archive changed after it was written.
        case archive
        /// A file or directory that cannot be read at present; its content was not checked.
        case unreadable
    }

    /// The action taken or possible.
    public enum Outcome: String, Codable, Hashable, Sendable, CaseIterable {
        /// No repair here; the sender or an archive may have the file.
        case lost
        /// A relay may still have it: `--fix` requests it.
        case receivable
        /// The next mount receives it again.
        case requested
        /// Moved to the profile's directory `set-aside` or `damaged`, with its readable part.
        case setAside = "set-aside"
        /// `--fix` sets it aside.
        case removable
        /// `--fix` removes the access of other users.
        case closable
        /// Access of other users was removed.
        case closed
        /// `--fix` continues without it.
        case replaceable
        /// Created again, without its former content.
        case replaced
        /// A mount fetches it again when it is read.
        case refetchable
        /// In an archive: another copy or a new archive may have it.
        case elsewhere
    }

    public var kind: Kind
    /// For a file of a chat, folder and name in the mount; else the path relative to the data directory.
    public var path: String
    /// Plaintext size in bytes, or size on disk if nothing else is known.
    public var size: UInt64?
    /// A sentence that describes the defect; for a database, of its first damaged page.
    public var detail: String
    public var outcome: Outcome

    public init(_ kind: Kind, _ path: String, size: UInt64? = nil, detail: String, outcome: Outcome) {
        self.kind = kind
        self.path = path
        self.size = size
        self.detail = detail
        self.outcome = outcome
    }

    /// True if no action is left.
    public var isSettled: Bool {
        switch outcome {
        case .requested, .setAside, .closed, .replaced: true
        case .lost, .receivable, .removable, .closable, .replaceable, .refetchable, .elsewhere: false
        }
    }

    /// One line for display, with the path. Names are as their senders chose them.
    public var sentence: String {
        let size = size.map { ", \(ByteCount.rounded($0))" } ?? ""
        let word =
            switch kind {
            case .database: "a damaged database"
            case .damaged: "damaged"
            case .contradictory: "not the file that its sender described"
            case .missing: "missing"
            case .stray: "not referenced"
            case .exposed: "accessible to others"
            case .archive: "not an archive as ChatFS wrote it"
            case .unreadable: "cannot be read"
            }
        return "\(path): \(word)\(size). \(detail.endingInFullStop) \(remedy)"
    }

    private var remedy: String {
        switch (outcome, kind) {
        case (.lost, .database):
            "Restore it from an archive ('chatfs import'); nothing in it was changed."
        case (.lost, .contradictory): "Other recipients may have refused it: ask its sender for it again."
        case (.lost, .unreadable): "Its content was not checked: remove the cause of the error."
        case (.lost, _): "No relay has it: ask its sender to send it again, or restore it from an archive."
        case (.receivable, _): "A relay may still have it: 'chatfs verify --fix' downloads it again."
        case (.requested, _): "The next mount downloads it again if a relay still has it."
        case (.setAside, _): "It was set aside and not deleted."
        case (.removable, _): "'chatfs verify --fix' sets it aside."
        case (.closable, _): "'chatfs verify --fix' removes the access of others."
        case (.closed, _): "Only its owner has access now."
        case (.replaceable, _): "Restore it from a backup, or continue without it by 'chatfs verify --fix'."
        case (.replaced, _): "It is created again without its former content."
        case (.refetchable, _): "The next read in a mount downloads it again if a relay still has it."
        case (.elsewhere, _): "Use another copy of the archive, or write a new one."
        }
    }
}
