import Glibc
import Posix
import TestSupport

/// Alice and Bob on one data directory, a relay, and a mount for each: like `chatfs demo`, but the test can stop, kill
/// and remount every part.
final class TwoMounts {
    let folder: TemporaryFolder
    private(set) var relay: RunningProcess
    private(set) var daemons: [String: RunningProcess] = [:]
    let relayAddress: String

    var data: String { folder.path("data") }

    /// - Parameter encrypted: False if the test inspects the databases.
    static func start(
        in folder: TemporaryFolder? = nil, mounting people: [String] = ["alice", "bob"],
        encrypted: Bool = true
    ) async throws -> TwoMounts {
        let folder = try folder ?? TemporaryFolder()
        let clear = encrypted ? [] : ["--no-encryption"]
        let relay = try await ChatFSProcess.start(["relay", "--dir", folder.path("relay")] + clear)
        let address = try await relay.line("its address") { $0.hasPrefix("xftp://") }
        let mounts = TwoMounts(folder, relay, address)
        for name in ["alice", "bob"] {
            try await mounts.run(["profile", "create", name, "--relay", address] + clear)
        }
        try await mounts.run(["connect", "alice", "bob"])
        for name in people { try await mounts.mount(name) }
        return mounts
    }

    private init(_ folder: TemporaryFolder, _ relay: RunningProcess, _ address: String) {
        self.folder = folder
        self.relay = relay
        relayAddress = address
    }

    deinit { for process in daemons.values { process.send(SIGKILL) } }

    /// Restarts the relay at its address.
    func startRelay() async throws {
        relay = try await ChatFSProcess.start(["relay", "--dir", folder.path("relay")])
        let address = try await relay.line("its address") { $0.hasPrefix("xftp://") }
        guard address == relayAddress else { throw WaitedInVain("the relay came back at another address") }
    }

    /// Runs a command on the data directory to its end.
    @discardableResult
    func run(_ arguments: [String]) async throws -> Shell.Outcome {
        let outcome = try await ChatFSProcess.run(arguments + ["--data", data])
        guard outcome.succeeded else { throw WaitedInVain("\(arguments.first ?? ""): \(outcome.errors)") }
        return outcome
    }

    func arguments(toMount name: String, at place: String? = nil, _ more: [String] = []) -> [String] {
        [
            "mount", place ?? path(name), "--profile", name, "--data", data, "--cache-dir",
            folder.path("cache"),
        ] + more
    }

    @discardableResult
    func mount(
        _ name: String, at place: String? = nil, _ more: [String] = [], environment: [String: String?] = [:],
        ignoredSignals: [Int32] = [], blockedSignals: [Int32] = []
    ) async throws -> RunningProcess {
        let process = try await ChatFSProcess.start(
            arguments(toMount: name, at: place, more), environment: environment,
            ignoredSignals: ignoredSignals,
            blockedSignals: blockedSignals)
        try await process.line("that it is mounted") { $0.contains("is mounted at") }
        daemons[name] = process
        return process
    }

    func daemon(_ name: String) throws -> RunningProcess {
        guard let daemon = daemons[name] else { throw WaitedInVain("\(name) was never mounted") }
        return daemon
    }

    func leave(_ name: String, by signal: Int32 = SIGTERM) async throws -> ChildProcess.Ending {
        let daemon = try daemon(name)
        daemon.send(signal)
        return try await daemon.ending()
    }

    /// Returns a path below the test's folder, such as `bob/alice/file.txt`.
    func path(_ name: String) -> String { folder.path(name) }

    /// Creates a file in a chat, open for writing.
    func create(_ name: String) throws -> OpenFile {
        try OpenFile(path(name), flags: O_WRONLY | O_CREAT | O_EXCL)
    }

    /// Writes and closes a file in a chat.
    func write(_ bytes: [UInt8], to name: String) throws { try create(name).write(bytes, at: 0) }

    func read(_ name: String) throws -> [UInt8] { try folder.read(name) }

    func state(_ name: String) throws -> String? {
        try ExtendedAttribute.text("user.chatfs.state", of: path(name))
    }

    func waitForState(_ state: String, of name: String) async throws {
        try await wait(until: "\(name) is \(state)") { try self.state(name) == state }
    }

    func waitForFile(_ name: String) async throws {
        try await wait(until: "\(name) appears") { access(self.path(name), F_OK) == 0 }
    }

    /// Waits until a folder contains all of these names.
    func waitForFiles(_ names: [String], in chat: String) async throws {
        let wanted = Set(names)
        try await wait(until: "\(names.count) files are in \(chat)", within: .seconds(60)) {
            wanted.isSubset(of: try self.folder.names(in: chat))
        }
    }

    /// Changes the data directory's database, as a sender or another version might. Unencrypted data only.
    func change(
        _ statement: String, _ arguments: [String] = [], in database: String = "chatfs.db"
    ) async throws {
        let script = """
            import sqlite3, sys
            connection = sqlite3.connect(sys.argv[1], timeout=30)
            count = connection.execute(sys.argv[2], sys.argv[3:]).rowcount
            connection.commit()
            connection.close()
            assert count > 0, "nothing was changed"
            """
        let outcome = try await Shell.run(
            "python3", ["-c", script, data + "/" + database, statement] + arguments)
        guard outcome.succeeded else { throw WaitedInVain("\(statement): \(outcome.errors)") }
    }

    /// Sends bytes from alice and waits until bob's side shows the placeholder.
    func send(_ bytes: [UInt8], as name: String) async throws {
        try write(bytes, to: "alice/bob/" + name)
        try await waitForState("sent", of: "alice/bob/" + name)
        try await waitForFile("bob/alice/" + name)
    }

    static func bytes(_ count: Int, seed: Int = 1) -> [UInt8] {
        var state = UInt64(truncatingIfNeeded: seed) &* 0x9E37_79B9_7F4A_7C15 | 1
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            for index in 0..<count {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                buffer[index] = UInt8(truncatingIfNeeded: state >> 56)
            }
            filled = count
        }
    }
}
