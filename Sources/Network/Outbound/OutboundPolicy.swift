import Base

/// Decides which servers named by a peer, a link or another server may be contacted, for messages and for files.
///
/// * An address in this machine or its network (loopback, private, link-local, of an interface or its network) is
///   permitted only for servers that the user chose, by fingerprint, host and port. Callers check the numeric address
///   of each connection, so a name cannot lead elsewhere.
/// * Connections to servers that were never reached before are limited for each peer that named them.
///
/// Safe to use from any thread.
public final class OutboundPolicy: Sendable {
    private let isChosen: @Sendable (ServerPlace) -> Bool
    /// Reads the user's choices again.
    private let look: @Sendable () -> Void
    private let network: OwnNetwork
    private let allowsAll: Bool
    private let budget: Lock<OutboundBudget<String>>
    private let start = ContinuousClock.now

    /// - Parameters:
    ///   - isChosen: Whether the user configured or approved a place. Never blocks.
    ///   - look: Called before refusing a server that may have been chosen meanwhile. May block.
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

    /// Permits internal addresses only for these places.
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

    /// For commands in which only the user names servers.
    public static let everything = OutboundPolicy(everything: ())

    /// For a proxy server without any chosen server.
    public static func strangers() -> OutboundPolicy { OutboundPolicy { _ in false } }

    /// Returns whether the user chose all places of a server.
    public func isChosen(_ places: [ServerPlace]) -> Bool {
        allowsAll || !places.isEmpty && places.allSatisfy(isChosen)
    }

    /// The same after reading the user's choices again. Blocks.
    public func isChosenNow(_ places: [ServerPlace]) -> Bool {
        if isChosen(places) { return true }
        look()
        return isChosen(places)
    }

    /// Returns whether a numeric address is permitted for a server that the user did not choose.
    /// - Parameter octets: 4 or 16; any other number is no address.
    public func mayReach(_ octets: [UInt8]) -> Bool {
        allowsAll || !IPAddress.isInternal(octets) && !network.contains(octets)
    }

    /// The same by the text of a host that a proxy looks up.
    public func mayReach(host: String) -> Bool {
        if allowsAll { return true }
        guard let octets = IPAddress.octets(of: host) else { return !IPAddress.isInternal(host: host) }
        return mayReach(octets)
    }

    /// Returns whether the text of a host names this machine or its network.
    public static func leadsInside(host: String) -> Bool { !strangers().mayReach(host: host) }

    /// Takes a connection to a server from its peer's budget. Returns nil if it is permitted now, otherwise the delay
    /// before the next call.
    /// - Parameter peer: The peer that named the server, in the caller's words.
    public func delay(before places: [ServerPlace], for peer: String) -> Duration? {
        guard !isChosen(places) else { return nil }
        let now = start.duration(to: .now)
        let delay = budget.withLock { $0.take(places, for: peer, now: now) }
        return delay > .zero ? delay : nil
    }

    /// Notes that a server proved its identity. It costs peers nothing from now on.
    public func noteReached(_ places: [ServerPlace]) {
        guard !allowsAll else { return }
        budget.withLock { budget in for place in places { budget.noteReached(place) } }
    }
}
