import Base
import Glibc
import Network
import Posix

/// Resolves a relay's hosts to addresses that the policy allows. Connections use these addresses, so a second lookup
/// cannot redirect them.
enum RelayResolver {
    private static let maxAddresses = 8

    static func endpoints(
        of relay: RelayAddress, policy: OutboundPolicy
    ) async throws(XFTPError) -> [Endpoint] {
        let isChosen = policy.isChosen(relay.places)
        var endpoints: [Endpoint] = []
        var refused = 0
        var failure: NetworkError?
        for host in relay.hosts where !Endpoint.isOnion(host) {
            let addresses: [String]
            if IPAddress.octetsOfIPv4(host) != nil || IPAddress.octetsOfIPv6(host) != nil {
                addresses = [host]
            } else {
                switch try await LookUp(host: host).run() {
                case .found(let found): addresses = found
                case .failed(let reason):
                    failure = reason
                    addresses = []
                }
            }
            for address in addresses {
                let octets = IPAddress.octetsOfIPv4(address) ?? IPAddress.octetsOfIPv6(address) ?? []
                if !isChosen, !policy.mayReach(octets) {
                    refused += 1
                } else {
                    endpoints.append(Endpoint(host: address, port: relay.port))
                }
            }
        }
        // A stranger's description may name any number of addresses.
        guard endpoints.isEmpty else { return isChosen ? endpoints : Array(endpoints.prefix(maxAddresses)) }
        if refused > 0 { throw internalAddress(of: relay) }
        guard let failure else {
            throw XFTPError(.relayNotAllowed, "The relay \(relay.name) can be reached through Tor only.")
        }
        guard failure.code != .exhausted else { throw XFTPError(failure, relay: relay) }
        throw XFTPError(
            .unreachable, "The relay \(relay.name) has no address at present. \(failure.sentence)",
            cause: failure)
    }

    /// Returns a relay's hosts for a proxy: names unresolved, onion addresses first. The proxy resolves names, but
    /// internal addresses in any spelling and names of this machine are rejected here.
    static func endpointsForProxy(
        of relay: RelayAddress, policy: OutboundPolicy
    ) throws(XFTPError) -> [Endpoint] {
        let isChosen = policy.isChosen(relay.places)
        let hosts = relay.hosts.filter { isChosen || policy.mayReach(host: $0) }
        guard !hosts.isEmpty else { throw internalAddress(of: relay) }
        let hidden = hosts.filter { Endpoint.isOnion($0) }
        return (hidden + hosts.filter { !Endpoint.isOnion($0) }).map {
            Endpoint(host: $0, port: relay.port)
        }
    }

    private static func internalAddress(of relay: RelayAddress) -> XFTPError {
        XFTPError(
            .relayNotAllowed,
            "The relay \(relay.name) has an address inside this machine or its network. "
                + "Approve \(relay.text) only if it is known to you.")
    }
}

/// One lookup on its own thread, because it may take many seconds. Abandoned if the task is cancelled.
private final class LookUp: Sendable {
    enum Outcome {
        case found([String])
        case failed(NetworkError)
    }

    private struct State {
        var continuation: CheckedContinuation<Outcome?, Never>?
        var isOver = false
    }

    private let host: String
    private let state = Lock(State())

    init(host: String) { self.host = host }

    func run() async throws(XFTPError) -> Outcome {
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    if !state.isOver { state.continuation = continuation }
                    return state.isOver
                }
                guard !isOver else { return continuation.resume(returning: nil) }
                Thread.start("look-up") { self.finish(Self.resolve(self.host)) }
            }
        } onCancel: {
            finish(nil)
        }
        guard let outcome else { throw .cancelled }
        return outcome
    }

    private func finish(_ outcome: Outcome?) {
        let continuation = state.withLock { state in
            state.isOver = true
            defer { state.continuation = nil }
            return state.continuation
        }
        continuation?.resume(returning: outcome)
    }

    private static func resolve(_ host: String) -> Outcome {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = AI_ADDRCONFIG
        var list: UnsafeMutablePointer<addrinfo>?
        var code = getaddrinfo(host, nil, &hints, &list)
        if code != 0 {
            // A machine with only loopback has no configured address family.
            hints.ai_flags = 0
            code = getaddrinfo(host, nil, &hints, &list)
        }
        let systemCode = errno
        guard code == 0 else { return .failed(.lookUp(of: host, failed: code, systemCode: systemCode)) }
        defer { freeaddrinfo(list) }
        var addresses: [String] = []
        var entry = list
        while let current = entry {
            var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            let length = current.pointee.ai_addrlen
            let result = getnameinfo(
                current.pointee.ai_addr, length, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST)
            if result == 0 {
                let bytes = text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
                let address = String(decoding: bytes, as: UTF8.self)
                if !addresses.contains(address) { addresses.append(address) }
            }
            entry = current.pointee.ai_next
        }
        return .found(addresses)
    }
}
