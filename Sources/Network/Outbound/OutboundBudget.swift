/// Limits the connections to unknown servers that each peer may cause, without input and output. Servers that were
/// reached, and those that the user named, cost nothing.
///
/// Excess attempts wait and are not lost.
struct OutboundBudget<Peer: Hashable & Sendable>: Sendable {
    /// The limits of one peer and of all peers together.
    struct Limits: Sendable {
        /// The number of connections at once, and the interval of further ones.
        var burst = 24
        var interval = Duration.seconds(5)
        /// The number of different servers in an hour.
        var serversPerHour = 128
        var burstOfAll = 96
        var intervalOfAll = Duration.seconds(1)
        /// The number of remembered peers and servers.
        var maxRemembered = 4096
    }

    /// Refills by one after each interval, up to `burst`.
    private struct Bucket {
        /// The time at which it is full again.
        var full = Duration.zero

        func waiting(_ burst: Int, _ interval: Duration, now: Duration) -> Duration {
            max(.zero, full - now - interval * (burst - 1))
        }

        mutating func take(_ interval: Duration, now: Duration) { full = max(full, now) + interval }
    }

    private struct Account {
        var bucket = Bucket()
        /// The time of the first request for each server within the last hour.
        var servers: [ServerPlace: Duration] = [:]
    }

    private let limits: Limits
    private var accounts: [Peer: Account] = [:]
    private var all = Bucket()
    private var reached: Set<ServerPlace> = []
    /// The time of the last attempt for a place. Requests during an attempt share it.
    private var taken: [ServerPlace: Duration] = [:]

    static var hour: Duration { .seconds(3600) }
    /// The time for which attempts to one server are shared.
    static var shared: Duration { .seconds(2) }

    init(_ limits: Limits = Limits()) { self.limits = limits }

    /// Takes a connection to each place of a server for a peer. Returns `.zero` if the connections are permitted now,
    /// otherwise the delay before the next call.
    /// - Parameter now: The time of a monotonic clock.
    mutating func take(_ server: [ServerPlace], for peer: Peer, now: Duration) -> Duration {
        let places = server.filter { place in
            !reached.contains(place) && taken[place].map { now - $0 >= Self.shared } ?? true
        }
        guard !places.isEmpty else { return .zero }
        var account = accounts[peer] ?? Account()
        account.servers = account.servers.filter { now - $0.value < Self.hour }
        var wait = max(
            account.bucket.waiting(limits.burst, limits.interval, now: now),
            all.waiting(limits.burstOfAll, limits.intervalOfAll, now: now))
        let new = places.filter { account.servers[$0] == nil }
        if !new.isEmpty, account.servers.count >= limits.serversPerHour,
            let oldest = account.servers.values.min()
        {
            wait = max(wait, oldest + Self.hour - now)
        }
        guard wait <= .zero else { return wait }
        if taken.count >= limits.maxRemembered { taken = [:] }
        for place in places {
            account.bucket.take(limits.interval, now: now)
            all.take(limits.intervalOfAll, now: now)
            taken[place] = now
        }
        for place in new { account.servers[place] = now }
        if accounts[peer] == nil, accounts.count >= limits.maxRemembered { forgetFull(now: now) }
        accounts[peer] = account
        return .zero
    }

    /// Notes that a server proved its identity.
    mutating func noteReached(_ server: ServerPlace) {
        if reached.count >= limits.maxRemembered { reached = [] }
        reached.insert(server)
    }

    /// Removes peers with full budgets. If all are busy, the common limit still holds.
    private mutating func forgetFull(now: Duration) {
        accounts = accounts.filter { peer in
            peer.value.bucket.full > now || peer.value.servers.values.contains { now - $0 < Self.hour }
        }
        if accounts.count >= limits.maxRemembered { accounts = [:] }
    }

    /// The number of known peers. For tests.
    var count: Int { accounts.count }
}
