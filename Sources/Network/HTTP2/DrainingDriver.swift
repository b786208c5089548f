import Base

/// Runs a `DrainingClient` on the thread of its connection.
final class DrainingDriver: HTTP2SessionEvents {
    private let client: DrainingClient
    private let authority: String
    private var driver: ConnectionDriver?
    private var session: HTTP2Session?
    /// A request with a waiting caller.
    private struct Open {
        let request: ClientRequest
        /// The time at which it counts as stalled.
        var end: Deadline
        /// The bytes of its body without a frame.
        var unsent: Int
    }

    private var requests: [Int32: Open] = [:]
    private var liveness: Liveness
    /// The event of its listener, rung when that stops.
    private let hasStopped: () -> Bool

    init(
        stream: TLSStream, client: DrainingClient, authority: String, limits: Liveness.Limits,
        hasStopped: @escaping () -> Bool
    ) throws(NetworkError) {
        self.client = client
        self.authority = authority
        self.hasStopped = hasStopped
        liveness = Liveness(limits: limits, now: .now)
        let session = try HTTP2Session(role: .client, events: self, sendsNoResets: true)
        self.session = session
        driver = ConnectionDriver(stream: stream, session: session, wakeUp: client.connection.wakeUp)
    }

    /// Returns when the connection is closed, with the reason, or nil if this side closed it.
    func run() -> NetworkError? {
        var failure: NetworkError?
        do throws(NetworkError) {
            while try !step() {}
        } catch {
            failure = error
        }
        let told = failure ?? NetworkError(.closed, "The connection was closed.")
        let left = client.connection.end(told)
        driver?.shutDown()
        // Closes TLS and the socket before reporting the end.
        driver = nil
        session = nil
        for open in requests.values { open.request.finish(.failure(told)) }
        for request in left { request.finish(.failure(told)) }
        return failure
    }

    /// Returns true if this side wants to end.
    private func step() throws(NetworkError) -> Bool {
        let (added, isClosing) = client.connection.take()
        for (number, request) in added.enumerated() {
            do throws(NetworkError) {
                try begin(request)
            } catch {
                for lost in added[number...] { lost.finish(.failure(error)) }
                throw error
            }
        }
        if isClosing || hasStopped() { return true }
        guard let driver, let session else { return true }
        let step = try driver.step()
        if step.hasEnded { throw NetworkError(.closed, "The other side closed the connection.") }
        if session.isGoingAway { client.connection.goesAway() }
        if step.moved > 0 { noteSent(session) }
        abandonLate()
        switch liveness.step(heard: session.heard, now: .now) {
        case .nothing: break
        case .ask:
            try session.ping()
            return false
        case .giveUp: throw NetworkError(.timeout, "The other side has been silent for too long.")
        }
        client.note(isSilent: liveness.isSilent)
        if step.isIdle { try driver.wait(until: wake) }
        return false
    }

    private var wake: Deadline {
        let alive = Deadline(after: liveness.next(now: .now))
        return requests.values.map(\.end).min().map { min($0, alive) } ?? alive
    }

    private func begin(_ request: ClientRequest) throws(NetworkError) {
        guard !request.isCancelled else {
            return request.finish(.failure(ClientConnection.cancelledError))
        }
        do {
            try (request.body as? LateBody)?.make()
        } catch {
            // It has no open stream.
            return request.finish(
                .failure(
                    error as? NetworkError ?? NetworkError(.body, sentence(of: error), cause: error)))
        }
        guard let stream = try session?.submitRequest(authority: authority, body: request.body) else {
            return
        }
        requests[stream] = Open(
            request: request, end: Deadline(after: request.timeout), unsent: request.body.length)
    }

    private func noteSent(_ session: HTTP2Session) {
        for (stream, open) in requests where open.unsent > 0 {
            let unsent = session.unsentBody(stream: stream)
            guard unsent != open.unsent else { continue }
            requests[stream]?.unsent = unsent
            requests[stream]?.end = Deadline(after: open.request.timeout)
        }
    }

    /// Their streams continue without a caller.
    private func abandonLate() {
        for (stream, open) in requests {
            if open.request.isCancelled {
                finish(stream, .failure(ClientConnection.cancelledError))
            } else if open.end.hasPassed {
                finish(stream, .failure(NetworkError(.timeout, "There was no answer in time.")))
            }
        }
    }

    private func finish(_ stream: Int32, _ outcome: ClientRequest.Outcome) {
        requests.removeValue(forKey: stream)?.request.finish(outcome)
    }

    // MARK: HTTP2SessionEvents

    func headersArrived(stream: Int32, status: Int?) {
        guard let status, status != 200 else { return }
        finish(
            stream,
            .failure(NetworkError(.protocolViolation, "The answer has HTTP status \(status) instead of 200."))
        )
    }

    func bodyArrived(stream: Int32, bytes: UnsafeRawBufferPointer) {
        guard let open = requests[stream] else { return }
        requests[stream]?.end = Deadline(after: open.request.timeout)
        do {
            try open.request.sink.receive(bytes)
        } catch {
            finish(
                stream,
                .failure(
                    error as? NetworkError ?? NetworkError(.body, sentence(of: error), cause: error)))
        }
    }

    func messageEnded(stream: Int32) { finish(stream, .success(())) }

    func streamClosed(stream: Int32, error: UInt32) {
        finish(
            stream,
            .failure(NetworkError(.closed, "The other side gave up a request (HTTP/2 error \(error)).")))
    }
}
