import Glibc
import Posix
import TestSupport

/// The kernel's features and counters of a mount, from `chatfs status --json`.
struct KernelReport {
    private let text: String

    static func read(_ mountpoint: String) async throws -> KernelReport {
        let outcome = try await ChatFSProcess.run(["status", "--json", mountpoint])
        guard outcome.succeeded else { throw WaitedInVain("chatfs status: \(outcome.errors)") }
        return KernelReport(text: outcome.output)
    }

    /// Number of requests of this operation since the mount.
    func count(_ operation: String) throws -> Int {
        let match = try Regex("\"\(operation)\" : ([0-9]+)").firstMatch(in: text)
        return match?[1].substring.flatMap { Int($0) } ?? 0
    }

    var passesThrough: Bool { text.contains("\"isOn\" : true") }

    var reason: String? { text.firstMatch(of: /"reason" : "([^"]+)"/).map { String($0.1) } }

    /// Number of requests caused by `work`, without those of the measurement.
    static func requests(
        of operations: [String], at mountpoint: String, _ work: () async throws -> Void
    ) async throws -> [Int] {
        let first = try await read(mountpoint)
        let before = try await read(mountpoint)
        try await work()
        let after = try await read(mountpoint)
        return try operations.map { operation in
            let asking = try before.count(operation) - first.count(operation)
            return try after.count(operation) - before.count(operation) - asking
        }
    }

    /// Returns true if this process may use passthrough: CAP_SYS_ADMIN (bit 21) in the first user namespace.
    static func mayPassThrough() throws -> Bool {
        func text(_ path: String) throws -> String {
            String(decoding: try OpenFile(path, flags: O_RDONLY).read(count: 1 << 16, at: 0), as: UTF8.self)
        }
        let users = try text("/proc/self/uid_map").split(whereSeparator: \.isWhitespace)
        let capabilities = try text("/proc/self/status").firstMatch(of: /CapEff:\s*([0-9a-f]+)/)
            .flatMap { UInt64($0.1, radix: 16) }
        return users == ["0", "0", "4294967295"] && (capabilities ?? 0) & 1 << 21 != 0
    }

    /// Drops the kernel's pages of a file.
    static func dropPages(of path: String) throws {
        let file = try OpenFile(path, flags: O_RDONLY)
        posix_fadvise(file.descriptor, 0, 0, POSIX_FADV_DONTNEED)
    }
}
