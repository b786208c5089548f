import CommandLineKit
import Network
import SMP

/// Whether others can reach a relay of one's own: what is said before they are shown where it is.
enum RelayReach {
    /// Whether a host is this machine by an address that only itself has.
    static func isOwnMachine(_ host: String) -> Bool {
        host.lowercased() == "localhost" || Endpoint(host: host, port: 1).isLoopback
    }

    /// What is said of a relay that listens where only this machine is; nil: others may reach it.
    /// - Parameter name: by which others know it, of `--host`.
    static func warning(listen host: String, name: String?) -> String? {
        guard name == nil, isOwnMachine(host) else { return nil }
        return
            "chatfs: this relay listens on \(host): only this machine reaches it, no phone and no other computer. "
            + "--listen 0.0.0.0:PORT makes it listen for them, and --host NAME names the machine in its addresses."
    }

    /// What is said of a profile whose servers only this machine reaches; nil: others may reach one.
    static func warning(servers: [ServerAddress]) -> String? {
        guard !servers.isEmpty, servers.allSatisfy({ $0.hosts.allSatisfy(isOwnMachine) }) else { return nil }
        return
            "chatfs: only this machine reaches the server in this link (\(servers[0].hosts[0])), no phone and no other "
            + "computer. Run 'chatfs relay --listen 0.0.0.0:PORT --host NAME' and give the address that it prints with "
            + "--server."
    }
}
