import Posix
import TestSupport

/// Connections to a control socket that its stopped daemon has not accepted.
enum PendingConnections {
    /// Counts those of all daemons in this network namespace, in which `contrib/test` runs one suite. A line cannot be
    /// assigned to a daemon, because the kernel prints the path through a descriptor of the daemon. The inode number of
    /// an unaccepted connection is 0.
    private static func count() -> Int {
        let bytes = ProcessInformation.bytes(of: "/proc/net/unix", limit: 1 << 20) ?? []
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").count { line in
            let fields = line.split(separator: " ")
            return fields.count == 8 && fields[6] == "0" && fields[7].hasSuffix("/control")
        }
    }

    /// Runs `body`, which starts a command, and returns when the command has connected to the stopped daemon.
    static func wait<Result>(forOneOf body: () async throws -> Result) async throws -> Result {
        let before = count()
        let result = try await body()
        try await TestSupport.wait(until: "the stopped daemon is asked") { count() > before }
        return result
    }
}
