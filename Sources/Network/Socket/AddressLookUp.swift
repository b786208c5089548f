import Base
import Glibc
import Posix

/// Looks up the addresses of an endpoint with a deadline.
struct AddressLookUp {
    private let endpoint: Endpoint

    init(_ endpoint: Endpoint) { self.endpoint = endpoint }

    /// Returns a numeric address at once. Looks up a name on a thread that may outlive the deadline.
    func run(deadline: Deadline, stop: WakeUp) throws(NetworkError) -> [SocketAddress] {
        if let numeric = try? SocketAddress.resolve(endpoint, numericOnly: true) { return numeric }
        guard !Endpoint.isOnion(endpoint.host) else {
            throw NetworkError(
                .nameNotFound, "The host is a hidden service of Tor, which is reached through a proxy alone.")
        }
        let answer = Lock<Result<[SocketAddress], NetworkError>?>(nil)
        let wakeUp = try WakeUp.orExhausted()
        do throws(SystemError) {
            try Thread.begin("resolver") { [endpoint] in
                let found = Result { () throws(NetworkError) in
                    try SocketAddress.resolve(endpoint, numericOnly: false)
                }
                answer.withLock { $0 = found }
                wakeUp.notify()
            }
        } catch {
            throw NetworkError(.exhausted, error.sentence, cause: error)
        }
        while true {
            if let found = answer.withLock({ $0 }) { return try found.get() }
            guard !deadline.hasPassed else {
                throw NetworkError(.timeout, "The name server did not answer in time.")
            }
            var requests = [wakeUp, stop].map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
            poll(&requests, milliseconds: deadline.milliseconds)
            if requests[1].revents != 0 { throw NetworkError(.cancelled, "Connecting was given up.") }
        }
    }
}
