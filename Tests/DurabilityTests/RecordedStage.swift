import Glibc
import Posix
import TestSupport

/// The initial contents of the disk, and the operations on it.
struct DayTrace {
    let beginning: [(path: String, file: UInt64, bytes: [UInt8])]
    let operations: [DiskOperation]
}

/// Alice and bob in one data directory with a relay; the operations of their processes on it are recorded.
final class RecordedStage {
    private let folder: TemporaryFolder
    private let recorder: String
    private let relay: RunningProcess
    private let beginning: [(path: String, file: UInt64, bytes: [UInt8])]
    private var daemons: [RunningProcess] = []
    private let traceFile: OpenFile

    static func start(in folder: TemporaryFolder, recorder: String) async throws -> RecordedStage {
        let relay = try await ChatFSProcess.start(["relay", "--dir", folder.path("relay")])
        let address = try await relay.line("its address") { $0.hasPrefix("xftp://") }
        for arguments in [
            ["profile", "create", "alice", "--relay", address, "--no-encryption"],
            ["profile", "create", "bob", "--relay", address],
            ["connect", "alice", "bob"],
        ] {
            let outcome = try await ChatFSProcess.run(
                arguments + ["--data", folder.path("data")], environment: ["CREDENTIALS_DIRECTORY": nil])
            guard outcome.succeeded else { throw WaitedInVain("\(arguments): \(outcome.errors)") }
        }
        return try RecordedStage(folder, recorder, relay)
    }

    private init(_ folder: TemporaryFolder, _ recorder: String, _ relay: RunningProcess) throws {
        self.folder = folder
        self.recorder = recorder
        self.relay = relay
        beginning = try DiskTree.contents(of: folder.path("data"))
        traceFile = try OpenFile(folder.path("trace"), flags: O_RDWR | O_CREAT | O_APPEND)
        _ = try folder.makeFolder("source")
    }

    deinit { for daemon in daemons where daemon.isRunning { daemon.send(SIGKILL) } }

    func trace() throws -> DayTrace {
        guard let operations = DiskOperation.all(in: try folder.read("trace")) else {
            throw WaitedInVain("the trace cannot be read")
        }
        return DayTrace(beginning: beginning, operations: operations)
    }

    /// Records a promise.
    func promise(_ kind: Promise.Kind, _ name: String) throws {
        try traceFile.send(DiskOperation.promiseRecord(Promise(kind, name).text))
    }

    private var recording: [String: String?] {
        Recorder.environment(recorder, trace: path("trace"), of: path("data"))
    }

    // MARK: - Operations of the people

    func mount(_ name: String, quietTime: String) async throws -> RunningProcess {
        let daemon = try await ChatFSProcess.start(
            [
                "mount", path(name), "--profile", name, "--data", path("data"), "--cache-dir", path("cache"),
                "--quiet-time", quietTime,
            ],
            environment: recording)
        daemons.append(daemon)
        try await daemon.line("that it is mounted") { $0.contains("is mounted at") }
        return daemon
    }

    func end(_ daemon: RunningProcess, by signal: Int32) async throws {
        daemon.send(signal)
        let ending = try await daemon.ending()
        guard ending == (signal == SIGKILL ? .signal(SIGKILL) : .code(0)) else {
            throw WaitedInVain("a daemon ended with \(ending): \(daemon.errors)")
        }
    }

    /// Runs a command about a mount to its end. Recorded, because every process with the open data directory may write
    /// to it.
    func chatfs(_ arguments: String...) async throws {
        let outcome = try await ChatFSProcess.run(arguments, environment: recording)
        guard outcome.succeeded else { throw WaitedInVain("\(arguments): \(outcome.errors)") }
    }

    func stopRelay() async throws { try await relay.terminate() }

    func copyIn(_ name: String, to chat: String) async throws {
        try folder.write(ScriptedDay.content(of: name), to: "source/" + name)
        let outcome = try await Shell.run("cp", [path("source/" + name), path(chat) + "/"])
        guard outcome.succeeded else { throw WaitedInVain("cp: \(outcome.errors)") }
    }

    func send(_ name: String) async throws {
        try await copyIn(name, to: "alice/bob")
        try await waitForState("sent", of: "alice/bob/" + name)
        try promise(.sent, name)
    }

    func writeDurably(_ name: String, _ bytes: [UInt8]) async throws {
        let file = try OpenFile(path("alice/bob/" + name), flags: O_WRONLY | O_CREAT)
        try file.write(bytes, at: 0)
        try file.synchronise()
    }

    func rename(_ old: String, _ new: String) throws {
        try check("rename a file") { Glibc.rename(path(old), path(new)) }
    }

    func remove(_ name: String) throws { try check("remove a file") { unlink(path(name)) } }

    func read(_ name: String) throws -> [UInt8] { try folder.read(name) }

    func path(_ name: String) -> String { folder.path(name) }

    // MARK: - Observations

    func waitForFile(_ name: String) async throws {
        try await wait(until: "\(name) appears") { access(self.path(name), F_OK) == 0 }
    }

    func waitForState(_ state: String, of name: String) async throws {
        try await wait(until: "\(name) is \(state)") { try self.state(name) == state }
    }

    /// Until it is more than a draft: it must not be lost from then on.
    func waitUntilTaken(_ name: String) async throws {
        try await wait(until: "\(name) is queued") { try self.state(name) != "draft" }
    }

    private func state(_ name: String) throws -> String? {
        try ExtendedAttribute.text("user.chatfs.state", of: path(name))
    }
}
