import SMP

/// Identifies a connection. Never reused within a database.
public struct ConnectionID: Hashable, Sendable {
    public let number: Int64
    public init(_ number: Int64) { self.number = number }
}

/// Identifies a contact request. Never reused within a database.
public struct ContactRequestID: Hashable, Sendable {
    public let number: Int64
    public init(_ number: Int64) { self.number = number }
}

/// Parameters of a new link.
public struct Invitation: Sendable {
    public enum Kind: String, Hashable, Sendable {
        /// For one person, who is connected by using it.
        case oneTime
        /// A contact address. Each use creates a request.
        case address
    }

    public var kind: Kind
    /// Server of the queue, with its password if needed.
    public var server: ServerAddress
    /// Connection information for the joiner of a one-time link.
    public var information: [UInt8]
    /// JSON data of the short link; nil creates no short link.
    public var linkData: [UInt8]?
    /// The application's note, repeated in each event of the connection.
    public var reason: String?

    public init(
        kind: Kind, server: ServerAddress, information: [UInt8] = [], linkData: [UInt8]?,
        reason: String? = nil
    ) {
        self.kind = kind
        self.server = server
        self.information = information
        self.linkData = linkData
        self.reason = reason
    }
}

/// Links to one queue. Secret until used.
public struct ConnectionLinks: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    public var full: ConnectionRequest
    public var short: ShortLink?

    public var description: String { "ConnectionLinks(…)" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The contents of an opened link.
public struct OpenedLink: Hashable, Sendable {
    public var kind: Invitation.Kind
    /// Empty for a full link.
    public var linkData: [UInt8]
    /// The connection that was made with the link.
    public var connection: ConnectionID?
}

/// Current condition of a connection.
public struct ConnectionCondition: Hashable, Sendable {
    /// Stage of a connection's life.
    public enum Phase: String, Hashable, Sendable, CaseIterable {
        /// The link waits for a joiner.
        case inviting
        /// A contact address, which is not a connection itself.
        case address
        /// This side has joined a link; the peer has not confirmed.
        case joining
        /// This side has sent a request to an address.
        case requesting
        /// The peer has joined; this side's confirmation is under way.
        case confirming
        case connected
        /// The handshake has failed.
        case failed
        case deleting
    }

    public var phase: Phase
    public var synchronisation: RatchetSyncPhase
    /// Whether this side's receiving queue is being moved.
    public var isRotating: Bool
    /// Whether sending is impossible because the peer deleted its queue.
    public var isGone: Bool
    /// Whether the peer's server refuses messages, which are still retried.
    public var isRefused: Bool
    /// Whether receiving stopped: another program took over the queue, or deleted it.
    public var isTakenOver: Bool

    public init(
        phase: Phase, synchronisation: RatchetSyncPhase = .synchronised, isRotating: Bool = false,
        isGone: Bool = false, isRefused: Bool = false, isTakenOver: Bool = false
    ) {
        self.phase = phase
        self.synchronisation = synchronisation
        self.isRotating = isRotating
        self.isGone = isGone
        self.isRefused = isRefused
        self.isTakenOver = isTakenOver
    }
}

/// State of the ratchet keys on both sides.
public enum RatchetSyncPhase: String, Hashable, Sendable, CaseIterable {
    case synchronised
    /// A message could not be decrypted; new keys may be needed.
    case allowed
    /// No message can be decrypted. Sending waits for new keys.
    case required
    /// This side has sent new keys.
    case started
    /// Both sides have new keys; no message has proven them yet.
    case agreed
}

/// Encryption of a connection.
public struct ConnectionSecurity: Hashable, Sendable {
    /// Security code, equal on both sides without a man in the middle.
    public var code: String
    /// Whether the post-quantum KEM protects sent messages and the last received one.
    public var isPostQuantum: Bool
    /// Whether this side has the KEM.
    public var isPostQuantumPossible: Bool
}

/// A connection in the paged list.
public struct ConnectionOverview: Hashable, Sendable {
    public var id: ConnectionID
    /// nil if the stored state is damaged.
    public var phase: ConnectionCondition.Phase?
    /// All servers with a queue of this side, in any status.
    public var servers: [ServerAddress]
}

/// A usable connection in the list.
public struct ConnectionSummary: Hashable, Sendable {
    public var id: ConnectionID
    public var condition: ConnectionCondition
    /// Links of an invitation or address while usable.
    public var links: ConnectionLinks?
    /// Servers of this side's active queues.
    public var servers: [ServerAddress]
}
