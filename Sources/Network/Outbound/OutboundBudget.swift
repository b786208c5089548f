/// How many connections to servers that are not known to be servers others may cause: a machine without input and
/// output. A server that was reached is known, and costs nothing any more; so is one that the user named, of which this
/// is not asked.
///
/// Whoever wants more waits: nothing is lost, and nobody is a means to knock at thousands of doors.
struct OutboundBudget<Peer: Hashable & Sendable>: Sendable {
    /// What holds for one peer, and for all together.
    struct Limits: Sendable {
        /// Connections at once, and how long it takes until there may be one more.
        var burst = 24
        var interval = Duration.seconds(5)
        /// Different servers within an hour.
        var serversPerHour = 128
        var burstOfAll = 96
        var intervalOfAll = Duration.seconds(1)
        /// Peers, and known servers, that are remembered.
        var maxRemembered = 4096
    }

    /// Refills by one after each interval, up to `burst`.
    private struct Bucket {
        /// When it is full again.
        var full = Duration.zero

        func waiting(_ burst: Int, _ interval: Duration, now: Duration) -> Duration {
            max(.zero, full - now - interval * (burst - 1))
        }

        mutating func take(_ interval: Duration, now: Duration) { full = max(full, now) + interval }
    }

    private struct Account {
        var bucket = Bucket()
        /// When each was asked for first within the last hour.
        var servers: [ServerPlace: Duration] = [:]
    }

    private let limits: Limits
    private var accounts: [Peer: Account] = [:]
    private var all = Bucket()
    private var reached: Set<ServerPlace> = []
    /// When something was taken for a place last: whoever asks while it is being connected to shares that connection.
    private var taken: [ServerPlace: Duration] = [:]

    static var hour: Duration { .seconds(3600) }
    /// Nobody tries to reach a server again sooner.
    static var shared: Duration { .seconds(2) }

    init(_ limits: Limits = Limits()) { self.limits = limits }

    /// Takes a connection to each place of a server for a peer. `.zero` where they may be made now; else how long to wait
    /// before asking again.
    /// - Parameter now: of a clock that never goes back.
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

    /// A server has proved to be the one of its address.
    mutating func noteReached(_ server: ServerPlace) {
        if reached.count >= limits.maxRemembered { reached = [] }
        reached.insert(server)
    }

    /// Peers that have all of theirs again. Where all are busy, the limit of all together still holds.
    private mutating func forgetFull(now: Duration) {
        accounts = accounts.filter { peer in
            peer.value.bucket.full > now || peer.value.servers.values.contains { now - $0 < Self.hour }
        }
        if accounts.count >= limits.maxRemembered { accounts = [:] }
    }

    /// Peers that something is known of. For tests.
    var count: Int { accounts.count }
}
