import Base
import Cryptography
import Network

/// Waits at one address for the phone of a pairing, and has one session with it. The keys of its link are for this
/// session only.
public final class PhoneListener: Sendable {
    /// The link that the phone scans.
    public let link: String
    public let endpoint: Endpoint
    private let server: ReversedServer

    /// Listens and starts to accept.
    /// - Parameters:
    ///   - time: The time in the link, in seconds since 1970.
    ///   - remember: Stores the phone durably before its hello is answered, because both sides need the keys of the
    ///     last session. If it throws, the session does not begin.
    ///   - observe: Receives the events.
    /// - Throws: `NetworkError` for an unusable listening address; `RemoteControlError` for one that a link cannot
    ///   contain.
    public static func start(
        _ settings: PhoneListenerSettings, pairing: Pairing, time: Int64,
        remember: @escaping @Sendable (Pairing.Phone) throws -> Void,
        observe: @escaping @Sendable (PhoneListenerEvent) -> Void
    ) throws -> PhoneListener {
        let opening = SessionOpening(
            settings: settings, pairing: pairing, remember: remember, observe: observe)
        let client = pairing.phone.map { ClientIdentity.authority($0.authority) } ?? .anyone
        let server = try ReversedServer.start(
            on: settings.endpoint,
            tls: TLSServerSettings(
                identity: pairing.authority.leaf(), applicationProtocols: [], client: client),
            size: HelloBlock.size, limits: settings.limits, refused: { observe(.refused($0)) },
            serve: { opening.serve($0) })
        do {
            let link = try opening.link(port: server.endpoint.port, time: time)
            opening.begun(server)
            return PhoneListener(link: link, endpoint: server.endpoint, server: server, opening: opening)
        } catch {
            server.takeNoMore()
            throw error
        }
    }

    private let opening: SessionOpening

    private init(link: String, endpoint: Endpoint, server: ReversedServer, opening: SessionOpening) {
        self.link = link
        self.endpoint = endpoint
        self.server = server
        self.opening = opening
    }

    /// Returns the announcement of the link for the phone of this pairing, sent once a second from the link's address.
    /// Nil before the first session.
    /// - Throws: `.configuration` for a link that is too long.
    public func announcement() throws(RemoteControlError) -> [UInt8]? {
        try opening.announcement(of: link)
    }

    /// Announces the link in the local network once a second for a minute, while no phone is connected. Only the phone of
    /// this pairing can read it. Requires that the link's host is an IPv4 address of this machine. Does nothing before the
    /// first session. Ends with the task.
    /// - Parameter interval: The time between announcements after that minute; nil to end then.
    /// - Throws: `RemoteControlError` for a link that is too long, `NetworkError` for another host.
    public func announce(every interval: Duration? = nil) async throws {
        guard let packet = try announcement() else { return }
        let sender = try MulticastSender(
            from: opening.host, to: Announcement.group, port: Announcement.port)
        var count = 0
        while !Task.isCancelled {
            // A network that takes nothing now may do so the next time.
            if opening.isWaiting { try? sender.send(packet) } else if interval == nil { return }
            count += 1
            guard count < 60 || interval != nil else { return }
            try? await Task.sleep(for: count < 60 ? .seconds(1) : interval ?? .seconds(1))
        }
    }

    /// Ends the session, and waits until its threads have ended.
    public func stop() async { await server.stop() }
}
