import Base
import Cryptography
import Network
import Posix
import SMP

/// A connection from its hellos to its end, on its own thread. Moves blocks between socket and session, answers to
/// requesters, and events to the mailbox.
struct EstablishedConnection {
    /// The reason for the end.
    struct End {
        var wasSubscribed = false
        /// Closed because it was idle.
        var isIdle = false
        var isStopping = false
        var isSuspended = false
        var reason: (any Error)?
    }

    private struct Pending {
        let request: ClientRequest
        /// Nil for a request without a requester.
        let answer: (@Sendable (Result<Answer, SMPError>) -> Void)?
        /// A ping.
        var isProbe = false

        /// Whether it fetches a message left on the server.
        var isFetch: Bool { answer == nil && !isProbe }
    }

    private let connection: ServerConnection
    private let stream: BlockStream
    private var session: ClientSession
    private var subscriptions = Subscriptions()
    private var pending: [ClientRequest.ID: Pending] = [:]
    private let start: ContinuousClock.Instant
    private var lastUse: Duration
    private var closed: SMPErrorCode?

    private var now: Duration { start.duration(to: .now) }

    /// The number of subscriptions repeated at once for messages left on the server.
    private static let heldAtOnce = 32
    /// The number of blocks read before the other direction is served.
    private static let blocksAtOnce = 32

    // MARK: Connecting

    /// Connects to the first host that answers and performs the handshakes. Blocks.
    static func make(
        _ connection: ServerConnection, start: ContinuousClock.Instant
    ) throws(SMPError) -> EstablishedConnection {
        let server = connection.server
        var last = SMPError(
            .unreachable, "The messaging server is a hidden service: it is reached through a proxy alone.")
        let admission = Admission(server, isOwn: connection.isOwn, settings: connection.settings)
        for host in connection.settings.hosts(of: server.hosts) {
            do throws(SMPError) {
                try admission.check(host)
                let made = try make(connection, Endpoint(host: host, port: server.port), admission, start)
                connection.settings.policy.noteReached(server.places)
                return made
            } catch {
                last = error
            }
        }
        throw last
    }

    private static func make(
        _ connection: ServerConnection, _ endpoint: Endpoint, _ admission: Admission,
        _ start: ContinuousClock.Instant
    ) throws(SMPError) -> EstablishedConnection {
        let settings = connection.settings
        let end = ContinuousClock.now + settings.connectTimeout
        do {
            let stream = try BlockStream.connect(
                to: endpoint,
                tls: TLSClientSettings(
                    identityFingerprint: connection.server.fingerprint, applicationProtocols: ["smp/1"]),
                proxy: settings.proxy, mayReach: admission.mayReach, size: TransportBlock.size,
                timeout: settings.connectTimeout,
                stop: connection.stop, wakeUp: connection.wakeUp)
            let block = try firstBlock(of: stream, until: end, connection)
            let peer = TLSPeer(
                sessionID: stream.channelBinding, certificates: stream.peerCertificates,
                fingerprint: connection.server.fingerprint)
            let (keys, hello) = try SessionKeys.agree(block: block, peer: peer, key: .generate())
            try stream.send(hello)
            return EstablishedConnection(connection, stream, keys, start)
        } catch let error as NetworkError where error.code == .notAllowed {
            throw admission.refusal
        } catch {
            throw unreachable(error)
        }
    }

    private static func firstBlock(
        of stream: BlockStream, until end: ContinuousClock.Instant, _ connection: ServerConnection
    ) throws -> [UInt8] {
        while true {
            if let block = try stream.receive() { return block }
            let left = ContinuousClock.now.duration(to: end)
            guard left > .zero else {
                throw NetworkError(.timeout, "The server did not finish the handshake in time.")
            }
            guard !connection.isStopping else { throw ServerConnection.closed }
            stream.wait(atMost: left)
        }
    }

    /// Maps errors of connecting: nothing was sent.
    private static func unreachable(_ error: any Error) -> SMPError {
        if let error = error as? SMPError {
            switch error.code {
            case .wrongIdentity, .unsupportedVersion: return error
            default: break
            }
        }
        if let error = error as? NetworkError, error.code == .identity {
            return SMPError(.wrongIdentity, "The messaging \(error.sentence.lowercasedFirst)", cause: error)
        }
        if let error = error as? NetworkError, error.code == .exhausted { return .exhausted(error) }
        return SMPError(
            .unreachable, "The messaging server cannot be reached. \(sentence(of: error))", cause: error)
    }

    private init(
        _ connection: ServerConnection, _ stream: BlockStream, _ keys: SessionKeys,
        _ start: ContinuousClock.Instant
    ) {
        self.connection = connection
        self.stream = stream
        self.start = start
        lastUse = start.duration(to: .now)
        connection.become(keys.handing)
        session = ClientSession(keys: keys, now: lastUse, random: connection.settings.random)
    }

    // MARK: Serving

    /// Serves until the connection ends. All pending requests then have an answer or an error.
    mutating func serve(_ entries: [ServerConnection.Entry]) -> End {
        var end = End()
        submit(entries)
        do {
            while closed == nil, !end.isIdle, !end.isStopping, !end.isSuspended {
                let work = connection.takeWork()
                submit(work.entries)
                end.isStopping = work.isStopping
                end.isSuspended = work.isSuspended
                if work.networkChanged { probe() }
                if work.hasRoom || subscriptions.hasHeld { fetchHeld() }
                try send()
                let isDry = try receive()
                passTime()
                end.isIdle = isUnused
                let goesOn = closed == nil && !end.isIdle && !end.isStopping && !end.isSuspended
                if isDry, goesOn { stream.wait(atMost: untilNext) }
            }
        } catch {
            end.reason = error
        }
        handle(session.disconnect())
        end.wasSubscribed = !subscriptions.isEmpty && !end.isStopping
        stream.shutDown()
        connection.become(nil)
        return end
    }

    private mutating func submit(_ entries: [ServerConnection.Entry]) {
        for entry in entries { submit(entry.request, entry.answer) }
    }

    private mutating func submit(
        _ request: ClientRequest, _ answer: (@Sendable (Result<Answer, SMPError>) -> Void)?
    ) {
        lastUse = now
        do throws(SMPError) {
            let id = try session.submit(request, now: lastUse)
            pending[id] = Pending(request: request, answer: answer)
            subscriptions.asked(request)
        } catch {
            answer?(.failure(error))
        }
    }

    /// Checks the connection after a network change, which may have broken it silently.
    private mutating func probe() {
        guard !pending.values.contains(where: \.isProbe) else { return }
        let request = ClientRequest(.ping, timeout: connection.settings.probeTimeout)
        guard let id = try? session.submit(request, now: now) else { return }
        pending[id] = Pending(request: request, answer: nil, isProbe: true)
    }

    /// Subscribes again to queues with messages left on the server.
    private mutating func fetchHeld() {
        guard subscriptions.hasHeld, connection.mailbox.hasRoom(for: connection.server) else { return }
        for request in subscriptions.takeHeld(atMost: Self.heldAtOnce) { submit(request, nil) }
    }

    private mutating func send() throws {
        while try stream.flush(), let block = session.takeBlock() { try stream.send(block) }
    }

    /// Returns true if there is nothing more to read for now.
    private mutating func receive() throws -> Bool {
        for _ in 0..<Self.blocksAtOnce {
            guard let block = try stream.receive() else { return true }
            handle(session.receive(block, now: now))
            if closed != nil { return true }
        }
        return false
    }

    private mutating func passTime() {
        if let deadline = session.nextDeadline, deadline <= now { handle(session.advance(to: now)) }
    }

    private var isUnused: Bool {
        pending.isEmpty && subscriptions.isEmpty && now - lastUse >= connection.settings.idleTimeout
    }

    private var untilNext: Duration? {
        // Blocks stay in the session until the socket accepts more.
        let idle = subscriptions.isEmpty ? lastUse + connection.settings.idleTimeout : nil
        return [session.nextDeadline, idle].compactMap(\.self).min().map { max($0 - now, .milliseconds(1)) }
    }

    // MARK: Receiving

    private mutating func handle(_ events: [ClientEvent]) {
        for event in events {
            switch event {
            case .answered(let id, let answer):
                guard let request = pending.removeValue(forKey: id) else { continue }
                if case .error = answer, request.isFetch,
                    subscriptions.contains(request.request.entityID)
                {
                    // The listener has the queue as subscribed. It subscribes again on a new connection.
                    closed = .disconnected
                    continue
                }
                subscriptions.answered(request.request, answer)
                request.answer?(.success(answer))
            case .failed(let id, let code):
                let request = pending.removeValue(forKey: id)
                request?.answer?(.failure(Self.failure(code)))
                guard let request, request.answer == nil else { continue }
                if request.isFetch, code == .timedOut {
                    // A slow server may answer later. Otherwise it is asked again.
                    subscriptions.hold(request.request.entityID)
                } else {
                    closed = code
                }
            case .delivered(let recipientID, let messageID, let body):
                deliver(recipientID, messageID, body)
            case .ended(let id):
                if subscriptions.remove(id) {
                    connection.mailbox.tell(.ended(connection.server, recipientID: id))
                }
            case .deleted(let id):
                if subscriptions.remove(id) {
                    connection.mailbox.tell(.deleted(connection.server, recipientID: id))
                }
            case .complaint(let error): Log("smp").debug("unidentified error from a server: \(error.text)")
            case .closed(let code): closed = code
            }
        }
    }

    private mutating func deliver(_ recipientID: [UInt8], _ messageID: [UInt8], _ body: [UInt8]) {
        guard subscriptions.contains(recipientID) else { return }
        let event = QueueServerEvent.delivered(
            connection.server, recipientID: recipientID, messageID: messageID, body: body)
        if !connection.mailbox.deliver(event, of: connection.server) { subscriptions.hold(recipientID) }
    }

    private static func failure(_ code: SMPErrorCode) -> SMPError {
        switch code {
        case .timedOut: SMPError(code, "The messaging server did not answer in time.")
        case .disconnected: SMPError(code, "The connection to the messaging server broke off.")
        default: SMPError(code, "The messaging server sent an invalid answer.")
        }
    }
}

extension String {
    /// Returns a sentence as the end of another one.
    fileprivate var lowercasedFirst: String {
        // "The server …" → "server …"
        hasPrefix("The ") ? String(dropFirst(4)) : self
    }
}
