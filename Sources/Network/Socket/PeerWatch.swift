import CLinux

/// Makes the kernel end a connection to a vanished peer: a changed network, a suspended machine, a power failure.
/// Otherwise a request would wait until its own deadline, which is longer than a reader waits. The kernel of a slow or
/// busy peer still acknowledges, so such a peer is not affected.
enum PeerWatch {
    /// The idle seconds before the first probe, and between two probes.
    static let idle: Int32 = 4
    static let interval: Int32 = 2
    /// The number of unanswered probes after which the peer is gone.
    static let questions: Int32 = 3
    /// The time in milliseconds after which unacknowledged bytes end the connection. No probes are sent meanwhile
    /// (tcp(7), TCP_USER_TIMEOUT).
    static let unacknowledged: UInt32 = 10_000

    /// Returns settings for a peer that may sleep and return: it has two minutes.
    static func allowSleep(on descriptor: Int32) { _ = chatfs_tcp_keep_alive(descriptor, 20, 10, 10) }

    /// - Parameter isClient: A server gives its clients more time, because Linux treats a client that reads nothing
    ///   like one that acknowledges nothing.
    static func begin(on descriptor: Int32, isClient: Bool) {
        // Without it, requests end at their deadlines.
        _ = chatfs_tcp_keep_alive(descriptor, idle, interval, questions)
        if isClient { _ = chatfs_tcp_user_timeout(descriptor, unacknowledged) }
    }
}
