import Base

/// Which servers may be connected to that a peer, a link or another server named: the one place where this is decided, for
/// messages and for files.
///
/// * An address of this machine or its network (loopback, private, link-local, of an interface, or of a network that an
///   interface is in) is reached only for servers that the user chose, by fingerprint, host and port. Whoever connects
///   asks about the numeric address that it connects to, so a name leads nowhere else.
/// * Connections to servers that nobody here has reached before are counted for whoever caused them.
///
/// Safe to use from any thread.
public final class OutboundPolicy: Sendable {
    private let isChosen: @Sendable (ServerPlace) -> Bool
    /// Reads what the user chose again.
    private let look: @Sendable () -> Void
    private let network: OwnNetwork
    private let allowsAll: Bool
    private let budget: Lock<OutboundBudget<String>>
    private let start = ContinuousClock.now

    /// - Parameters:
    ///   - isChosen: whether the user configured or approved a place. Never blocks.
    ///   - look: called before a server is refused that may have been chosen meanwhile. May block.
    public init(
        network: OwnNetwork = .machine, look: @escaping @Sendable () -> Void = {},
        isChosen: @escaping @Sendable (ServerPlace) -> Bool
    ) {
        self.isChosen = isChosen
        self.look = look
        self.network = network
        allowsAll = false
        budget = Lock(OutboundBudget())
    }

    /// Only these may be inside.
    public convenience init(chosen places: [ServerPlace]) {
        let places = Set(places)
        self.init { places.contains($0) }
    }

    private init(everything: Void) {
        isChosen = { _ in true }
        look = {}
        network = .machine
        allowsAll = true
        budget = Lock(OutboundBudget())
    }

    /// For servers that only the user names, in the same command.
    public static let everything = OutboundPolicy(everything: ())

    /// For a server that connects for others: nobody chose anything.
    public static func strangers() -> OutboundPolicy { OutboundPolicy { _ in false } }

    /// Whether the user chose a server: all its places.
    public func isChosen(_ places: [ServerPlace]) -> Bool {
        allowsAll || !places.isEmpty && places.allSatisfy(isChosen)
    }

    /// The same, after looking at what the user says now. Blocks.
    public func isChosenNow(_ places: [ServerPlace]) -> Bool {
        if isChosen(places) { return true }
        look()
        return isChosen(places)
    }

    /// Whether a numeric address may be connected to for a server that the user did not choose.
    /// - Parameter octets: 4 or 16; what has another number is no address.
    public func mayReach(_ octets: [UInt8]) -> Bool {
        allowsAll || !IPAddress.isInternal(octets) && !network.contains(octets)
    }

    /// The same of a host that a proxy looks up: as far as its text tells.
    public func mayReach(host: String) -> Bool {
        if allowsAll { return true }
        guard let octets = IPAddress.octets(of: host) else { return !IPAddress.isInternal(host: host) }
        return mayReach(octets)
    }

    /// Whether a host leads into this machine or its network, as far as its text tells.
    public static func leadsInside(host: String) -> Bool { !strangers().mayReach(host: host) }

    /// Takes a connection to a server out of what its peer may cause. nil where it may be made; else how long to wait
    /// before asking again.
    /// - Parameter peer: who named the server; the words are the caller's.
    public func delay(before places: [ServerPlace], for peer: String) -> Duration? {
        guard !isChosen(places) else { return nil }
        let now = start.duration(to: .now)
        let delay = budget.withLock { $0.take(places, for: peer, now: now) }
        return delay > .zero ? delay : nil
    }

    /// A server has proved to be the one of its address, and costs its peers nothing any more.
    public func noteReached(_ places: [ServerPlace]) {
        guard !allowsAll else { return }
        budget.withLock { budget in for place in places { budget.noteReached(place) } }
    }
}
