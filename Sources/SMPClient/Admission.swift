import Network
import SMP

/// Whether a server may be connected to, by the policy of the connections.
struct Admission {
    private let server: ServerAddress
    private let settings: ConnectionSettings
    /// The user chose the server, by its address or for a queue of this profile.
    private let isChosen: Bool

    /// - Parameter isOwn: queues of this profile are there. Blocks.
    init(_ server: ServerAddress, isOwn: Bool, settings: ConnectionSettings) {
        self.server = server
        self.settings = settings
        isChosen = isOwn || settings.policy.isChosenNow(server.places)
    }

    /// What may be reached of the numeric addresses of a host; nil: all.
    var mayReach: (@Sendable ([UInt8]) -> Bool)? {
        if isChosen { return nil }
        return { [policy = settings.policy] octets in policy.mayReach(octets) }
    }

    /// Refuses a host whose name says that it is inside. A proxy, which looks names up itself, is not asked for one.
    /// - Throws: `.notAllowed`.
    func check(_ host: String) throws(SMPError) {
        guard !isChosen, settings.proxy != nil, !settings.policy.mayReach(host: host) else { return }
        throw refusal
    }

    var refusal: SMPError {
        settings.refused(server)
        return SMPError(
            .notAllowed,
            "The messaging server \(server.hosts[0]) is inside this machine or its network, and was named by somebody "
                + "else. If you know it, allow it: chatfs approve \(server.text)")
    }
}

extension ServerAddress {
    /// The places of the server: what a user approves.
    public var places: [ServerPlace] {
        hosts.map { ServerPlace(fingerprint: fingerprint, host: $0, port: port) }
    }
}

extension ClientRequest {
    /// Whether it is about a queue of this profile, whose server the user chose.
    var isOfOwnQueue: Bool {
        switch command {
        case .create, .subscribe, .secure, .acknowledge, .delete, .setLink, .deleteLink, .suspend,
            .queueInformation:
            true
        default: false
        }
    }
}
