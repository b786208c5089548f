import Posix
import TestSupport

/// Connections to a profile's control socket which its daemon has not taken: it is stopped.
enum PendingConnections {
    /// Of all daemons: unix(7) names a socket as it was bound, through a descriptor of the daemon. The kernel lists one
    /// that was not taken without an inode number.
    private static func count() -> Int {
        let bytes = ProcessInformation.bytes(of: "/proc/net/unix", limit: 1 << 20) ?? []
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").count { line in
            let fields = line.split(separator: " ")
            return fields.count == 8 && fields[6] == "0" && fields[7].hasSuffix("/control")
        }
    }

    /// Runs `body`, which starts a command, and returns when that has asked the stopped daemon.
    static func wait<Result>(forOneOf body: () async throws -> Result) async throws -> Result {
        let before = count()
        let result = try await body()
        try await TestSupport.wait(until: "the stopped daemon is asked") { count() > before }
        return result
    }
}
