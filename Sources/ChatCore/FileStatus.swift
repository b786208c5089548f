/// State of a file (`CIFileStatus` of the chat API, same names). Progress counts encrypted and padded bytes:
/// a fraction, not a position.
public enum FileStatus: Hashable, Sendable {
    case sndStored
    case sndTransfer(sent: UInt64, total: UInt64)
    case sndComplete
    case sndCancelled
    case sndError(FileProblem)
    /// Temporary; the core retries.
    case sndWarning(FileProblem)
    /// Offered. Not `described` until the sender's upload is complete.
    case rcvInvitation(described: Bool)
    case rcvAccepted
    case rcvTransfer(received: UInt64, total: UInt64)
    /// Relays need approval; the problem names them.
    case rcvAborted(FileProblem)
    case rcvComplete
    /// By the sender or the user.
    case rcvCancelled
    case rcvError(FileProblem)
    case rcvWarning(FileProblem)

    /// Whether the whole content is at the file's source.
    public var isReadable: Bool {
        switch self {
        case .rcvComplete, .sndStored, .sndTransfer, .sndComplete, .sndCancelled, .sndError, .sndWarning: true
        default: false
        }
    }

    /// Whether the core has given up for a reason that may not affect another download.
    public var isGivenUp: Bool {
        if case .rcvError(let problem) = self {
            !problem.isFinal && problem.kind != .notApproved
        } else {
            false
        }
    }
}

/// A problem of a file, by its consequence for the user.
public struct FileProblem: Hashable, Sendable {
    public enum Kind: String, CaseIterable, Hashable, Sendable {
        /// Expired or deleted on the relay (AUTH).
        case expired
        /// The relay has a record without content (NO_FILE).
        case neverUploaded
        case cancelledBySender
        /// Blocked by the relay.
        case blocked
        /// A relay without approval, or one that must not be contacted.
        case notApproved
        /// Wrong digest, tag or length, or an invalid description.
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
    /// Text of `user.chatfs.error`.
    public var sentence: String
    /// True if the log has it already, in this process or an earlier one. Not compared.
    public private(set) var isLogged = false
    /// The cause of the core's error. Neither compared nor stored.
    public let cause: (any Error)?

    public init(_ kind: Kind, _ sentence: String, cause: (any Error)? = nil) {
        self.kind = kind
        self.sentence = sentence
        self.cause = cause
    }

    /// For cores that do not name the relays.
    public static let relaysNotApproved = FileProblem(
        .notApproved, "Its relays are not approved: run chatfs approve.")

    public static func == (left: Self, right: Self) -> Bool {
        left.kind == right.kind && left.sentence == right.sentence
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(kind)
        hasher.combine(sentence)
    }

    /// Returns the problem for callers that must not log it again.
    public var logged: FileProblem {
        var problem = self
        problem.isLogged = true
        return problem
    }

    /// Returns the problem with an added sentence about remains.
    public func mentioning(_ remains: String?) -> FileProblem {
        var problem = self
        problem.sentence = [sentence, remains].compactMap(\.self).joined(separator: " ")
        return problem
    }

    public static let damagedCopy = FileProblem(
        .damaged, "The stored copy of this file is damaged, and it cannot be fetched again.")

    /// Whether only the sender or relay could resolve it.
    public var isFinal: Bool {
        switch kind {
        case .expired, .neverUploaded, .cancelledBySender, .blocked, .damaged, .tooLarge: true
        case .notApproved, .unreachable, .timedOut, .noSpace, .relayFull, .noRelay, .other: false
        }
    }
}

extension FileProblem.Kind {
    /// Whether the file is gone for everyone. Its item is then settled: it has a state of its own, and no core lists it
    /// as unsettled or receivable.
    public var isGone: Bool {
        switch self {
        case .expired, .neverUploaded, .cancelledBySender, .blocked: true
        case .notApproved, .damaged, .unreachable, .timedOut, .noSpace, .relayFull, .tooLarge, .noRelay,
            .other:
            false
        }
    }

    /// The raw values of all gone kinds as an SQL list, for conditions of cores. Partial indexes contain it, so a change
    /// needs a migration that makes them anew.
    public static let goneInSQL = allCases.filter(\.isGone).map { "'\($0.rawValue)'" }.joined(separator: ", ")
}
