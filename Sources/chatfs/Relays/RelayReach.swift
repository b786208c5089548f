import CommandLineKit
import Network
import SMP

/// Warnings about relays that other machines cannot reach, printed before their addresses.
enum RelayReach {
    /// Returns true for loopback hosts.
    static func isOwnMachine(_ host: String) -> Bool {
        host.lowercased() == "localhost" || Endpoint(host: host, port: 1).isLoopback
    }

    /// Returns the warning for a relay that listens on loopback only, else nil.
    /// - Parameter name: The public name of `--host`.
    static func warning(listen host: String, name: String?) -> String? {
        guard name == nil, isOwnMachine(host) else { return nil }
        return
            "chatfs: this relay listens on \(host): phones and other computers cannot reach it. "
            + "--listen 0.0.0.0:PORT opens it to them, and --host NAME sets the name of the machine in its addresses."
    }

    /// Returns the warning for a profile whose servers are all on loopback, else nil.
    static func warning(servers: [ServerAddress]) -> String? {
        guard !servers.isEmpty, servers.allSatisfy({ $0.hosts.allSatisfy(isOwnMachine) }) else { return nil }
        return
            "chatfs: only this machine can reach the server in this link (\(servers[0].hosts[0])); phones and other computers "
            + "cannot. Run 'chatfs relay --listen 0.0.0.0:PORT --host NAME' and give the address that it prints with "
            + "--server."
    }
}
