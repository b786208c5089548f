import Glibc
import Posix

/// The target of a client's connection.
struct ClientRoute: Sendable {
    let endpoint: Endpoint
    let tls: TLSClientSettings
    let proxy: SOCKSProxy?
    /// Returns whether a numeric address, 4 or 16 bytes, is permitted; nil permits all. Not used for a proxy's own
    /// address: the host's text decides then.
    var mayReach: (@Sendable ([UInt8]) -> Bool)?

    private static let maxAddresses = 8

    /// Connects to the proxy if there is one, otherwise to the server. Blocks; `stop` cancels.
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
                // A hostile name may resolve to any number of addresses.
                addresses = Array(addresses.prefix(Self.maxAddresses))
            }
            return try Socket.connect(to: addresses, deadline: deadline, stop: stop)
        } catch {
            // Exhausted local resources are not the proxy's fault.
            guard proxy != nil, error.code != .cancelled, error.code != .exhausted else { throw error }
            throw NetworkError(error.code, "The SOCKS proxy at \(next) cannot be reached.", cause: error)
        }
    }
}

extension TLSStream {
    /// Connects to a server and verifies its identity. Blocks; `stop` cancels.
    static func connect(
        _ route: ClientRoute, deadline: Deadline, stop: WakeUp
    ) throws(NetworkError) -> TLSStream {
        let socket = try route.connect(deadline: deadline, stop: stop)
        try route.proxy?.connect(socket, to: route.endpoint, deadline: deadline, stop: stop)
        let context = try TLSContext.shared(client: route.tls)
        let stream = try TLSStream(context: context, socket: socket, isClient: true)
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

    /// Performs the handshake of an accepted connection. Blocks; `stop` cancels.
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

    /// The place where a server performs a client's request, in turns with others.
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
