import Network
import SMP

/// Applies the connection policy to one server.
struct Admission {
    private let server: ServerAddress
    private let settings: ConnectionSettings
    /// The user chose the server, by its address or for a queue of this profile.
    private let isChosen: Bool

    /// - Parameter isOwn: Whether the server has queues of this profile. Blocks.
    init(_ server: ServerAddress, isOwn: Bool, settings: ConnectionSettings) {
        self.server = server
        self.settings = settings
        isChosen = isOwn || settings.policy.isChosenNow(server.places)
    }

    /// Returns the permitted numeric addresses of a host, or nil for all.
    var mayReach: (@Sendable ([UInt8]) -> Bool)? {
        if isChosen { return nil }
        return { [policy = settings.policy] octets in policy.mayReach(octets) }
    }

    /// Refuses a host whose name is in the own network. A proxy resolves names itself, so it is never asked for such a
    /// host.
    /// - Throws: `.notAllowed`.
    func check(_ host: String) throws(SMPError) {
        guard !isChosen, settings.proxy != nil, !settings.policy.mayReach(host: host) else { return }
        throw refusal
    }

    var refusal: SMPError {
        settings.refused(server)
        return SMPError(
            .notAllowed,
            "The messaging server \(server.hosts[0]) is inside this machine or its network, and another "
                + "person named it. If you know it, allow it: chatfs approve \(server.text)")
    }
}

extension ServerAddress {
    /// The places of the server, as approved by users.
    public var places: [ServerPlace] {
        hosts.map { ServerPlace(fingerprint: fingerprint, host: $0, port: port) }
    }
}

extension ClientRequest {
    /// Whether the request is about a queue of this profile, whose server the user chose.
    var isOfOwnQueue: Bool {
        switch command {
        case .new, .subscribe, .secure, .acknowledge, .delete, .linkSet, .linkDelete, .suspend,
            .queueInformation:
            true
        default: false
        }
    }
}
