import Glibc
import Posix

/// Where a client's connection leads, and how.
struct ClientRoute: Sendable {
    let endpoint: Endpoint
    let tls: TLSClientSettings
    let proxy: SOCKSProxy?
    /// Of the numeric addresses that a name leads to, 4 or 16 bytes, those that may be reached; nil: all. A proxy is
    /// asked whatever its own address is: there the host's text decides.
    var mayReach: (@Sendable ([UInt8]) -> Bool)?

    private static let maxAddresses = 8

    /// To the proxy where there is one, else to the server. Blocks; `stop` gives up.
    fileprivate func connect(deadline: Deadline, stop: WakeUp) throws(NetworkError) -> Socket {
        let next = proxy?.endpoint ?? endpoint
        do throws(NetworkError) {
            var addresses = try AddressLookUp(next).run(deadline: deadline, stop: stop)
            if let mayReach, proxy == nil {
                let wasFound = !addresses.isEmpty
                addresses.removeAll { !mayReach($0.hostBytes) }
                if wasFound, addresses.isEmpty {
                    throw NetworkError(.notAllowed, "The host is inside this machine or its network.")
                }
                // Who named the host may have given it as many as they like.
                addresses = Array(addresses.prefix(Self.maxAddresses))
            }
            return try Socket.connect(to: addresses, deadline: deadline, stop: stop)
        } catch {
            // What this machine has run out of is not the proxy's.
            guard proxy != nil, error.code != .cancelled, error.code != .exhausted else { throw error }
            throw NetworkError(error.code, "The SOCKS proxy at \(next) cannot be reached.", cause: error)
        }
    }
}

extension TLSStream {
    /// A connection to a server that has proved to be the one that is meant. Blocks; `stop` gives up.
    static func connect(
        _ route: ClientRoute, deadline: Deadline, stop: WakeUp
    ) throws(NetworkError) -> TLSStream {
        let socket = try route.connect(deadline: deadline, stop: stop)
        try route.proxy?.connect(socket, to: route.endpoint, deadline: deadline, stop: stop)
        let stream = try TLSStream(context: TLSContext(client: route.tls), socket: socket, isClient: true)
        try stream.shakeHands(
            deadline: deadline, stop: stop, late: "The relay did not finish the TLS handshake in time.")
        try IdentityCheck.verify(
            stream.peerCertificates, fingerprint: route.tls.identityFingerprint)
        let wanted = route.tls.applicationProtocols
        guard stream.applicationProtocol.map(wanted.contains) == true else {
            throw NetworkError(
                .handshake,
                "The server did not agree on the protocol: it is none for \(wanted.joined(separator: ", ")).")
        }
        return stream
    }

    /// A client's connection that was accepted. Blocks; `stop` gives up.
    static func accept(
        _ socket: Socket, context: TLSContext, applicationProtocols: [String], deadline: Deadline,
        stop: WakeUp, turn: Turn? = nil
    ) throws(NetworkError) -> TLSStream {
        let stream = try TLSStream(context: context, socket: socket, isClient: false)
        try stream.shakeHands(
            deadline: deadline, stop: stop, late: "A client did not finish the TLS handshake in time.", turn)
        let isAgreed = stream.applicationProtocol.map(applicationProtocols.contains) == true
        guard isAgreed || applicationProtocols.isEmpty else {
            throw NetworkError(
                .handshake,
                "A client did not offer the protocol \(applicationProtocols.joined(separator: ", ")).")
        }
        return stream
    }

    /// When a server does what its client asks: others have their turns in between.
    struct Turn {
        let turns: FairSemaphore<PeerAddress>
        let place: FairSemaphore<PeerAddress>.Member
    }

    private func shakeHands(
        deadline: Deadline, stop: WakeUp, late: String, _ turn: Turn? = nil
    ) throws(NetworkError) {
        while try !handshake(in: turn) {
            guard !deadline.hasPassed else { throw NetworkError(.timeout, late) }
            let events = Int16(POLLIN) | (hasUnsent ? Int16(POLLOUT) : 0)
            _ = try socket.wait(for: events, until: deadline, stop: stop)
        }
    }

    private func handshake(in turn: Turn?) throws(NetworkError) -> Bool {
        guard let turn else { return try handshake() }
        return try turn.turns.withTurn(of: turn.place) { () throws(NetworkError) in try handshake() }
    }
}
