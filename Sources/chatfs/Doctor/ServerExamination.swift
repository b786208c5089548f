import Base
import Network
import SMP
import SMPClient
import XFTP

/// Contacts relays for files and messages, each once, even if several profiles use it.
struct ServerExamination: Sendable {
    private(set) var servers: [AnyRelay] = []
    /// Proxies of profiles: their servers must be contacted only through these.
    private var proxies: [AnyRelay: SOCKSProxy] = [:]
    /// Proxy for all servers; nil to use the proxy of each profile.
    var proxy: SOCKSProxy?

    mutating func add(_ server: AnyRelay, _ proxy: SOCKSProxy? = nil) {
        if !servers.contains(server) { servers.append(server) }
        if let proxy { proxies[server] = proxy }
    }

    mutating func add(_ others: ServerExamination) {
        for server in others.servers { add(server, others.proxies[server]) }
    }

    /// Number of servers on other machines, which see the address of this machine.
    var remoteCount: Int { servers.count { !$0.isLocal } }

    /// Contacts all servers concurrently.
    ///
    /// - Parameter hasNetwork: False to contact only servers on this machine and report the missing network
    ///   once.
    func findings(hasNetwork: Bool = true) async -> [Finding] {
        var findings: [Finding] = []
        if !servers.contains(where: \.isForFiles) {
            findings.append(
                .note(
                    "no relay for files is configured: contacts on the network get no files, profiles here only up to 255 KiB"
                ))
        }
        let asked = servers.filter { hasNetwork || $0.isLocal }
        if asked.count < servers.count {
            findings.append(
                .failed(
                    "no network: \(servers.count - asked.count) servers on other machines were not contacted; outgoing files wait"
                ))
        }
        return findings
            + (await withTaskGroup(of: (Int, Finding).self) { group in
                for (number, server) in asked.enumerated() {
                    group.addTask { (number, await finding(of: server)) }
                }
                return await group.reduce(into: []) { $0.append($1) }.sorted { $0.0 < $1.0 }.map(\.1)
            })
    }

    private func finding(of server: AnyRelay) async -> Finding {
        let way = proxy ?? proxies[server]
        do {
            switch server {
            case .files(let relay):
                var settings = XFTPClientSettings(policy: .everything)
                settings.connectDeadline = .seconds(10)
                settings.retry.tries = 1
                settings.proxy = way
                let client = XFTPClient(settings: settings)
                defer { client.close() }
                try await client.ping(relay)
            case .messages(let address):
                let connections = QueueConnections(ConnectionSettings(policy: .everything, proxy: way))
                let answer = await connections.ask([ClientRequest(.ping)], of: address)
                await connections.close()
                _ = try answer[0].get()
            }
            return .good("\(server.noun) \(server.place) answers", naming: server.hosts)
        } catch {
            return .failed(
                "\(server.isForFiles ? "relay" : "messaging server") \(server.place): \(Finding.reason(of: error))",
                naming: server.hosts)
        }
    }
}

extension AnyRelay {
    fileprivate var noun: String { isForFiles ? "the relay" : "the messaging server" }

    fileprivate var hosts: [String] {
        switch self {
        case .messages(let server): server.hosts
        case .files(let relay): relay.hosts
        }
    }

    /// Host and port.
    fileprivate var place: String {
        switch self {
        case .messages(let server): "\(server.hosts.first ?? "?"):\(server.port)"
        case .files(let relay): "\(relay.hosts[0]):\(relay.port)"
        }
    }

    /// True if the server is on this machine.
    fileprivate var isLocal: Bool {
        hosts.allSatisfy { $0 == "localhost" || $0.hasPrefix("127.") || ["::1", "[::1]"].contains($0) }
    }
}
