import Base
import SMP

/// A connection, for as long as the database is there: never given to another one.
public struct ConnectionID: Hashable, Sendable {
    public let number: Int64
    public init(_ number: Int64) { self.number = number }
}

/// A request at an address, in the same way.
public struct ContactRequestID: Hashable, Sendable {
    public let number: Int64
    public init(_ number: Int64) { self.number = number }
}

/// What a link is to be.
public struct Invitation: Sendable {
    public enum Kind: String, Hashable, Sendable {
        /// For one person, who is connected by using it.
        case oneTime
        /// For everybody; each who uses it makes a request.
        case address
    }

    public var kind: Kind
    /// Where the queue is made. A password in the address is used.
    public var server: ServerAddress
    /// Told to who joins a one-time link.
    public var information: [UInt8]
    /// JSON for who opens the short link; nil: there is no short link.
    public var linkData: [UInt8]?
    /// Why the application makes it, which each event of the connection repeats.
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

/// Links to the same queue. Secrets until they are used.
public struct ConnectionLinks: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    public var full: ConnectionRequest
    public var short: ShortLink?

    public init(full: ConnectionRequest, short: ShortLink?) {
        self.full = full
        self.short = short
    }

    public var description: String { "ConnectionLinks(…)" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// What is behind a link.
public struct OpenedLink: Hashable, Sendable {
    public var kind: Invitation.Kind
    /// Empty of full links, which have nothing behind them.
    public var linkData: [UInt8]
    /// JSON of the application in the link itself, of links to groups.
    public var requestData: String?
    /// The connection that was made with it.
    public var connection: ConnectionID?
}

/// What a connection is like at the moment.
public struct ConnectionCondition: Hashable, Sendable {
    /// How far it is.
    public enum Phase: String, Hashable, Sendable, CaseIterable {
        /// The link waits for somebody.
        case inviting
        /// An address, which is no connection itself.
        case address
        /// This side has joined a link, and the other has not confirmed.
        case joining
        /// This side has asked at an address.
        case requesting
        /// The other side has joined, and this side's confirmation is under way.
        case confirming
        case connected
        /// It could not be made.
        case failed
        /// Being deleted.
        case deleting
    }

    public var phase: Phase
    public var synchronisation: SynchronisationPhase
    /// Whether the queue in which this side receives is being moved.
    public var isRotating: Bool
    /// Whether nothing can be sent any more, because the other side took its queue away.
    public var isGone: Bool
    /// Whether its server refuses what is sent, and it is tried again.
    public var isRefused: Bool
    /// Whether nothing is received, because another program has taken over the queue, or it was deleted elsewhere.
    public var isTakenOver: Bool

    public init(
        phase: Phase, synchronisation: SynchronisationPhase = .synchronised, isRotating: Bool = false,
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

/// Whether both sides have the same keys.
public enum SynchronisationPhase: String, Hashable, Sendable, CaseIterable {
    case synchronised
    /// A message could not be decrypted: agreeing anew may be needed.
    case allowed
    /// Nothing can be decrypted any more; nothing is sent until both have agreed anew.
    case required
    /// This side has sent new keys.
    case started
    /// Both have new keys, and no message has proven them.
    case agreed
}

/// How what goes over a connection is encrypted.
public struct ConnectionSecurity: Hashable, Sendable {
    /// Digits that are the same on both sides when nobody is in between.
    public var code: String
    /// Whether what is sent, and what was received last, is protected by the post-quantum KEM too.
    public var isPostQuantum: Bool
    /// Whether this side has the KEM.
    public var isPostQuantumPossible: Bool

    public init(code: String, isPostQuantum: Bool, isPostQuantumPossible: Bool) {
        self.code = code
        self.isPostQuantum = isPostQuantum
        self.isPostQuantumPossible = isPostQuantumPossible
    }
}

/// A connection in the list of all.
public struct ConnectionOverview: Hashable, Sendable {
    public var id: ConnectionID
    /// nil where what is stored of it cannot be used.
    public var phase: ConnectionCondition.Phase?
    /// On which this side has queues for it, whatever is to become of these.
    public var servers: [ServerAddress]

    public init(id: ConnectionID, phase: ConnectionCondition.Phase?, servers: [ServerAddress]) {
        self.id = id
        self.phase = phase
        self.servers = servers
    }
}

/// A connection in a list.
public struct ConnectionSummary: Hashable, Sendable {
    public var id: ConnectionID
    public var condition: ConnectionCondition
    /// The links of an invitation or an address, while they can be used.
    public var links: ConnectionLinks?
    /// Where this side receives.
    public var servers: [ServerAddress]
    /// Whether what is sent, and what was received last, is protected by the post-quantum KEM too.
    public var isSendingPostQuantum: Bool
    public var isReceivingPostQuantum: Bool
}
