import Base

/// Runs a client's connection on its thread: takes requests, moves bytes, checks deadlines, and at the end fails all
/// open requests.
final class ClientDriver: HTTP2SessionEvents {
    private let connection: ClientConnection
    private let authority: String
    private var driver: ConnectionDriver?
    private var session: HTTP2Session?
    private var requests: [Int32: ClientRequest] = [:]
    /// A request that ended without its answer, with the reason.
    private var culprit: (stream: Int32, error: NetworkError)?
    /// Answered before its body was read; reported when this thread no longer uses the body.
    private var answeredEarly: [ClientRequest] = []
    private var isDone = false

    init(stream: TLSStream, connection: ClientConnection, authority: String) throws(NetworkError) {
        self.connection = connection
        self.authority = authority
        let session = try HTTP2Session(role: .client, events: self)
        self.session = session
        driver = ConnectionDriver(stream: stream, session: session, wakeUp: connection.wakeUp)
    }

    /// Returns when the connection is closed.
    func run() {
        var failure = NetworkError(.closed, "The connection to the relay was closed.")
        do throws(NetworkError) {
            while !isDone {
                try takeRequests()
                guard let step = try driver?.step(), !step.hasEnded, !isDone else { break }
                if session?.isGoingAway == true { connection.goesAway() }
                if session?.isGoingAway == true && requests.isEmpty { break }
                try checkDeadlines()
                if step.isIdle { try driver?.wait(until: requests.values.map(\.deadline).min()) }
            }
        } catch {
            failure = error
            if let stream = session?.streamOfFailedBody { culprit = (stream, error) }
        }
        let left = connection.end(NetworkError(.closed, "The connection to the relay is closed."))
        driver?.shutDown()
        // Closes TLS and the socket before reporting the end, so that a retry does not use them.
        driver = nil
        session = nil
        for (stream, request) in requests {
            let isCulprit = culprit == nil || culprit?.stream == stream
            request.finish(.failure(isCulprit ? culprit?.error ?? failure : Self.collateral))
        }
        for request in answeredEarly { request.finish(.success(())) }
        for request in left { request.finish(.failure(Self.collateral)) }
    }

    private static let collateral = NetworkError(.closed, "The connection to the relay was closed.")

    private func takeRequests() throws(NetworkError) {
        let (added, closing) = connection.take()
        for (number, request) in added.enumerated() {
            guard !request.isCancelled else {
                request.finish(.failure(ClientConnection.cancelledError))
                continue
            }
            guard let session else { continue }
            do throws(NetworkError) {
                let stream = try session.submitRequest(authority: authority, body: request.body)
                requests[stream] = request
            } catch {
                for lost in added[number...] { lost.finish(.failure(error)) }
                throw error
            }
        }
        for (stream, request) in requests where request.isCancelled {
            try give(up: stream, because: ClientConnection.cancelledError)
        }
        if closing { isDone = true }
    }

    private func checkDeadlines() throws(NetworkError) {
        for (stream, request) in requests where request.deadline.hasPassed {
            try give(
                up: stream, because: NetworkError(.timeout, "The relay did not answer in time."))
        }
    }

    private func give(up stream: Int32, because error: NetworkError) throws(NetworkError) {
        culprit = (stream, error)
        throw error
    }

    // MARK: HTTP2SessionEvents

    func headersArrived(stream: Int32, status: Int?) throws {
        guard let status, status != 200, requests[stream] != nil else { return }
        throw NetworkError(
            .protocolViolation, "The relay answered with HTTP status \(status) instead of 200.")
    }

    func bodyArrived(stream: Int32, bytes: UnsafeRawBufferPointer) throws {
        guard let request = requests[stream] else { return }
        do {
            try request.sink.receive(bytes)
        } catch {
            let known = error as? NetworkError
            culprit = (stream, known ?? NetworkError(.body, sentence(of: error), cause: error))
            throw error
        }
    }

    func messageEnded(stream: Int32) {
        guard let request = requests.removeValue(forKey: stream) else { return }
        if session?.hasUnsentBody(stream: stream) == true {
            isDone = true
            connection.goesAway()
            answeredEarly.append(request)
        } else {
            request.finish(.success(()))
        }
    }

    func streamClosed(stream: Int32, error: UInt32) {
        guard let request = requests.removeValue(forKey: stream) else { return }
        request.finish(
            .failure(NetworkError(.closed, "The relay gave up a request (HTTP/2 error \(error)).")))
    }
}
