import Base

/// Something that is not as it should be in a data directory.
public struct Finding: Codable, Hashable, Sendable {
    public enum Kind: String, Codable, Hashable, Sendable, CaseIterable {
        /// A database with a page, an index or a reference that is wrong.
        case database
        /// A file whose bytes are not those that were kept.
        case damaged
        /// A file that a message, a link or a draft has, and the disk has not.
        case missing
        /// A file that nothing names.
        case stray
        /// A file or folder that others may look into, by its mode.
        case exposed
        /// An archive that is none, or was changed after it was written.
        case archive
        /// A folder or a file that cannot be read at present: what is in it was not looked at.
        case unreadable
    }

    /// What was done about it, or can be.
    public enum Outcome: String, Codable, Hashable, Sendable, CaseIterable {
        /// Nothing can be done here: it is to be had from its sender, or from an archive.
        case lost
        /// A relay may have it still: `--fix` asks for it.
        case receivable
        /// It will be received anew by the next mount.
        case requested
        /// It lies in the folder `set-aside` of the profile, or `damaged`, with what can be read of it.
        case setAside = "set-aside"
        /// `--fix` sets it aside.
        case removable
        /// `--fix` takes the rights of others.
        case closable
        /// Others have no rights any more.
        case closed
        /// `--fix` goes on without it.
        case replaceable
        /// It is made anew, without what it held.
        case replaced
        /// A mount has it fetched again when somebody reads it.
        case refetchable
        /// It is in an archive: another copy of that, or a new one, may have it.
        case elsewhere
    }

    public var kind: Kind
    /// Of a file in a chat: folder and name in the mount. Else its place below the data directory.
    public var path: String
    /// Bytes of plaintext, or on the disk where that is all that is known.
    public var size: UInt64?
    /// What exactly is wrong, a sentence; of a database, of its first page that is.
    public var detail: String
    public var outcome: Outcome

    public init(_ kind: Kind, _ path: String, size: UInt64? = nil, detail: String, outcome: Outcome) {
        self.kind = kind
        self.path = path
        self.size = size
        self.detail = detail
        self.outcome = outcome
    }

    /// Whether nothing is left to do about it.
    public var isSettled: Bool {
        switch outcome {
        case .requested, .setAside, .closed, .replaced: true
        case .lost, .receivable, .removable, .closable, .replaceable, .refetchable, .elsewhere: false
        }
    }

    /// One line for a person, with the path. Names in it are as their senders chose them.
    public var sentence: String {
        let size = size.map { ", \(ByteCount.rounded($0))" } ?? ""
        let word =
            switch kind {
            case .database: "a damaged database"
            case .damaged: "damaged"
            case .missing: "not there any more"
            case .stray: "belongs to nothing"
            case .exposed: "open to others"
            case .archive: "not an archive as it was written"
            case .unreadable: "cannot be read"
            }
        return "\(path): \(word)\(size). \(detail.endingInFullStop) \(remedy)"
    }

    private var remedy: String {
        switch (outcome, kind) {
        case (.lost, .database):
            "Restore it from an archive ('chatfs import'); nothing in it was changed."
        case (.lost, .unreadable): "What is in it was not looked at: see what keeps ChatFS from it."
        case (.lost, _): "No relay has it: have its sender send it again, or take it from an archive."
        case (.receivable, _): "A relay may still have it: 'chatfs verify --fix' has it received again."
        case (.requested, _): "It is received again by the next mount, if a relay still has it."
        case (.setAside, _): "It was set aside, and nothing of it was deleted."
        case (.removable, _): "'chatfs verify --fix' sets it aside."
        case (.closable, _): "'chatfs verify --fix' takes the rights of others."
        case (.closed, _): "It is for its owner alone now."
        case (.replaceable, _): "Put it back from a backup, or 'chatfs verify --fix' goes on without it."
        case (.replaced, _): "It is made anew, without what it held."
        case (.refetchable, _): "Who reads it in a mount has it fetched again, if a relay still has it."
        case (.elsewhere, _): "Use another copy of the archive, or write a new one."
        }
    }
}
