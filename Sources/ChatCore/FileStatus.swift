/// Where a file stands (`CIFileStatus` of the chat API, same names).
/// Progress counts bytes as they travel, encrypted and padded: a fraction, not a position.
public enum FileStatus: Hashable, Sendable {
    case sndStored
    case sndTransfer(sent: UInt64, total: UInt64)
    case sndComplete
    case sndCancelled
    case sndError(FileProblem)
    /// Temporary: the core tries again by itself.
    case sndWarning(FileProblem)
    /// Offered, not accepted. Without `described` the sender has not finished its upload.
    case rcvInvitation(described: Bool)
    case rcvAccepted
    case rcvTransfer(received: UInt64, total: UInt64)
    /// The relays were not approved; can be accepted again with approval. The problem says which they are.
    case rcvAborted(FileProblem)
    case rcvComplete
    /// By the sender or by the user.
    case rcvCancelled
    case rcvError(FileProblem)
    case rcvWarning(FileProblem)

    /// The whole content lies at the file's source.
    public var isReadable: Bool {
        switch self {
        case .rcvComplete, .sndStored, .sndTransfer, .sndComplete, .sndCancelled, .sndError, .sndWarning: true
        default: false
        }
    }

    /// The core will not receive it any more, for a reason that need not hold for who fetches it now.
    public var isGivenUp: Bool {
        if case .rcvError(let problem) = self {
            !problem.isFinal && problem.kind != .notApproved
        } else {
            false
        }
    }
}

/// What went wrong with a file, by its consequence for who reads or sends it.
public struct FileProblem: Hashable, Sendable {
    public enum Kind: String, CaseIterable, Hashable, Sendable {
        /// Expired or deleted on the relay (AUTH).
        case expired
        /// The relay has a record but no content (NO_FILE).
        case neverUploaded
        case cancelledBySender
        /// Blocked by the relay.
        case blocked
        /// A relay that is not configured, or one that may never be contacted.
        case notApproved
        /// Wrong digest, tag, length, or a description that makes no sense.
        case damaged
        case unreachable
        case timedOut
        /// The disk is full.
        case noSpace
        /// The relay is full (QUOTA).
        case relayFull
        case tooLarge
        /// No relay is configured.
        case noRelay
        case other
    }

    public var kind: Kind
    /// What `user.chatfs.error` says.
    public var sentence: String

    public init(_ kind: Kind, _ sentence: String) {
        self.kind = kind
        self.sentence = sentence
    }

    /// For a core that does not say which relays they are.
    public static let relaysNotApproved = FileProblem(
        .notApproved, "Its relays are not approved: run chatfs approve.")

    /// With a sentence about what is left.
    public func mentioning(_ remains: String?) -> FileProblem {
        FileProblem(kind, [sentence, remains].compactMap(\.self).joined(separator: " "))
    }

    public static let damagedCopy = FileProblem(
        .damaged, "The stored copy of this file is damaged, and it cannot be fetched again.")

    /// Trying again cannot help: the sender or the relay would have to change something.
    public var isFinal: Bool {
        switch kind {
        case .expired, .neverUploaded, .cancelledBySender, .blocked, .damaged, .tooLarge: true
        case .notApproved, .unreachable, .timedOut, .noSpace, .relayFull, .noRelay, .other: false
        }
    }
}
