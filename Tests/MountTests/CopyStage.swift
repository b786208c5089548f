import Glibc
import Posix
import TestSupport

/// Alice and bob, connected, each mounted by its own daemon, with a relay: the setup for copies, without the demo's
/// samples. Removed with the last reference.
final class CopyStage: Sendable {
    let folder: TemporaryFolder
    private let relay: RunningProcess
    private let data: [String]

    /// Alice's folder for bob, and bob's for alice.
    var toBob: String { folder.path("a/bob") }
    var fromAlice: String { folder.path("b/alice") }
    var source: String { folder.path("source") }

    /// Creates both profiles, unmounted.
    /// - Parameter encrypted: False if the test inspects the databases.
    static func start(encrypted: Bool = true) async throws -> CopyStage {
        let folder = try TemporaryFolder()
        _ = try folder.makeFolder("source")
        let relay = try await ChatFSProcess.start(["relay", "--dir", folder.path("relay")])
        let address = try await relay.line("its address") { $0.hasPrefix("xftp://") }
        let mounts = CopyStage(folder, relay)
        for name in ["alice", "bob"] {
            try await mounts.chatfs(
                ["profile", "create", name, "--relay", address] + (encrypted ? [] : ["--no-encryption"]))
        }
        try await mounts.chatfs(["connect", "alice", "bob"])
        return mounts
    }

    private init(_ folder: TemporaryFolder, _ relay: RunningProcess) {
        self.folder = folder
        self.relay = relay
        data = ["--data", folder.path("data")]
    }

    /// Runs a command on the shared data directory and requires success.
    @discardableResult
    func chatfs(_ arguments: [String]) async throws -> String {
        let outcome = try await ChatFSProcess.run(arguments + data)
        guard outcome.succeeded else { throw WaitedInVain("chatfs \(arguments[0]): \(outcome.errors)") }
        return outcome.output
    }

    /// Mounts a profile at the folder named by its first letter.
    func mount(
        _ profile: String, quietTime: String = "1s", options: [String] = [],
        environment: [String: String] = [:]
    ) async throws -> RunningProcess {
        let daemon = try await ChatFSProcess.start(
            [
                "mount", folder.path(String(profile.prefix(1))), "--profile", profile, "--cache-dir",
                folder.path("cache"), "--quiet-time", quietTime,
            ] + options + data, environment: environment)
        try await daemon.line("that it is mounted", within: .seconds(60)) { $0.contains("is mounted at") }
        return daemon
    }

    /// Writes a source file.
    func prepare(_ name: String, _ bytes: [UInt8]) throws { try folder.write(bytes, to: "source/" + name) }

    /// Runs a line of sh with the folders `$SOURCE` and `$FOLDER`.
    func copy(_ line: String) async throws -> Shell.Outcome {
        try await Shell.script(
            line, environment: ["SOURCE": source, "FOLDER": toBob], limit: .seconds(120))
    }

    func state(_ name: String) throws -> String? {
        try ExtendedAttribute.text("user.chatfs.state", of: toBob + "/" + name)
    }

    /// Names in bob's folder for alice, one per message.
    func arrived() throws -> [String] { try folder.names(in: "b/alice") }

    func waitForArrival(of names: [String]) async throws {
        try await wait(until: "\(names.count) files have arrived", within: .seconds(120)) {
            Set(names).isSubset(of: try arrived())
        }
    }

    /// Waits until a last file has arrived and no transfer is running.
    func waitUntilQuiet() async throws {
        let last = "zz last \(try arrived().count)"
        try prepare(last, [1])
        _ = try await copy("cp \"$SOURCE/\(last)\" \"$FOLDER/\"")
        try await waitForArrival(of: [last])
        unlink(source + "/" + last)
    }

    /// SHA-256 of all files of a folder, computed by sha256sum: sorted `hash  name` lines.
    func digests(_ folder: String, _ names: [String]) async throws -> [String] {
        let outcome = try await Shell.run("sha256sum", ["--"] + names, folder: folder, limit: .seconds(120))
        guard outcome.succeeded else { throw WaitedInVain("sha256sum: \(outcome.errors)") }
        return outcome.output.split(separator: "\n").map(String.init).sorted()
    }

    func expectEqual(_ names: [String]) async throws -> Bool {
        try await digests(source, names) == digests(fromAlice, names)
    }
}

/// Returns `count` varying bytes that depend on the seed.
func sample(_ count: Int, seed: Int = 0) -> [UInt8] {
    var state = UInt64(truncatingIfNeeded: seed) &* 0x9E37_79B9_7F4A_7C15 | 1
    return (0..<count).map { _ in
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return UInt8(truncatingIfNeeded: state)
    }
}
