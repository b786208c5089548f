import Base
import Glibc
import Network
import Posix
import TestSupport

/// A profile of the official program with an optional mount.
final class OfficialPerson: Sendable {
    /// How the mount reaches the core.
    enum Way: Sendable { case attached, program, library }

    let name: String
    /// The folder of all files of this person. The mount point is `Chats`.
    let home: String
    private let relays: OfficialRelays
    private let port: UInt16
    private let program = Lock<RunningProcess?>(nil)
    private let daemon = Lock<RunningProcess?>(nil)

    var files: String { home + "/files" }
    var chats: String { home + "/Chats" }
    var database: String { home + "/db" }

    /// Creates a profile with the test's relays only and starts its program.
    /// - Parameter messageServer: replaces the address of the official message relay.
    init(
        _ name: String, _ relays: OfficialRelays, fileRelay: OfficialRelay? = nil,
        messageServer: String? = nil
    ) async throws {
        guard let port = LoopbackPort.unused() else { throw WaitedInVain("no port is free") }
        self.name = name
        self.relays = relays
        self.port = port
        home = try relays.folder.makeFolder(name)
        for folder in ["files", "files/.incoming", "Chats", "source"] {
            _ = try relays.folder.makeFolder("\(name)/\(folder)")
        }
        for command in [
            "/user", "/smp \(messageServer ?? relays.messages.address)",
            "/xftp \((fileRelay ?? relays.files).address)",
        ] {
            let outcome = try await Shell.script(
                #"printf '%s\n' "$NAME" | "$PROGRAM" -d "$DATABASE" -y -e "$COMMAND" -t 0"#,
                environment: OfficialPrograms.environment.merging([
                    "NAME": name, "PROGRAM": OfficialPrograms.path("simplex-chat"), "DATABASE": database,
                    "COMMAND": command,
                ]) { $1 })
            guard outcome.succeeded else { throw WaitedInVain("\(command): \(outcome.output)") }
        }
        try await startProgram()
    }

    deinit { daemon.withLock { $0 }?.send(SIGKILL) }

    // MARK: - The program

    /// Starts the program. The port is always the same.
    func startProgram() async throws {
        var settings = ChildProcess.Settings(
            OfficialPrograms.path("simplex-chat"),
            [
                "-d", database, "-y", "-p", "\(port)", "--files-folder", files, "--temp-folder",
                files + "/.incoming",
            ])
        settings.environment = OfficialPrograms.environment
        let started = try await RunningProcess.start(settings)
        program.withLock { $0 = started }
        try await wait(until: "the program of \(name) listens", within: .seconds(60)) {
            guard started.isRunning else {
                throw WaitedInVain("it ended\n\(started.output)\n\(started.errors)")
            }
            guard let client = try? await client() else { return false }
            client.close()
            return true
        }
    }

    /// Kills the program during its work.
    func killProgram() async throws {
        program.withLock { $0 }?.send(SIGKILL)
        try await program.withLock { $0 }?.ending()
    }

    func stopProgram() async throws {
        program.withLock { $0 }?.send(SIGINT)
        try await program.withLock { $0 }?.ending()
    }

    func client() async throws -> OfficialClient { try await OfficialClient.connect(port: port) }

    // MARK: - The mount

    private func core(_ way: Way) -> [String] {
        switch way {
        case .attached: ["--core", "ws://127.0.0.1:\(port)"]
        case .program: ["--core", "simplex-chat:\(OfficialPrograms.path("simplex-chat"))"]
        case .library: ["--core", "lib:\(OfficialPrograms.library)"]
        }
    }

    /// Mounts. Except for `.attached`, the program ends first, because the mount needs the database alone.
    func mount(
        _ way: Way, _ more: [String] = [], environment: [String: String?] = [:]
    ) async throws {
        if way != .attached { try await stopProgram() }
        let database = way == .attached ? [] : ["--database", database]
        let process = try await ChatFSProcess.start(
            [
                "mount", chats, "--files-folder", files, "--cache-dir", home + "/cache", "--quiet-time",
                "200ms",
            ]
                + core(way) + database + data + more,
            environment: ["HOME": home].merging(environment) { $1 })
        daemon.withLock { $0 = process }
        try await process.line("that it is mounted", within: .seconds(120)) { $0.contains("is mounted at") }
    }

    /// The options of commands for the running program.
    var coreThatRuns: [String] { core(.attached) + data }

    private var data: [String] { ["--data", home + "/data"] }

    /// Runs a command about the core and waits for its end. Without a mount the program must not run, except
    /// for `.attached`.
    func chatfs(_ arguments: [String], _ way: Way = .attached) async throws -> String {
        let folder =
            ["contact", "group", "address", "requests", "accept"].contains(arguments.first)
            ? ["--files-folder", files] : []
        let database = way == .attached ? [] : ["--database", database]
        let outcome = try await ChatFSProcess.run(
            arguments + core(way) + database + folder + data, environment: ["HOME": home])
        guard outcome.succeeded else {
            throw WaitedInVain("\(arguments): \(outcome.output)\(outcome.errors)")
        }
        return outcome.output
    }

    func leave() async throws -> ChildProcess.Ending {
        guard let daemon = daemon.withLock({ $0 }) else { throw WaitedInVain("\(name) was never mounted") }
        daemon.send(SIGTERM)
        return try await daemon.ending(within: .seconds(60))
    }

    /// Kills the daemon and unmounts its dead mount.
    func killDaemon() async throws {
        daemon.withLock { $0 }?.send(SIGKILL)
        try await daemon.withLock { $0 }?.ending()
        Unmounting.detach(chats)
    }

    /// Kills the program that the mount started. After an earlier kill the mount may just be about to start
    /// the next one, so this waits for a program.
    func killMountedProgram() async throws {
        try await wait(until: "the mount of \(name) has a program") {
            guard let program = mountedProgram() else { return false }
            return kill(program, SIGKILL) == 0
        }
    }

    private func mountedProgram() -> pid_t? {
        let daemon = daemon.withLock { $0 }?.processIdentifier ?? 0
        guard let tasks = try? OpenFile("/proc/\(daemon)/task", flags: O_RDONLY),
            let threads = try? PrivateFolder.names(in: tasks)
        else { return nil }
        // Threads and children may end during the listing.
        return threads.flatMap { Self.words(of: "/proc/\(daemon)/task/\($0)/children") }
            .compactMap { pid_t($0) }
            .first { Self.words(of: "/proc/\($0)/comm").first == "simplex-chat" }
    }

    private static func words(of path: String) -> [Substring] {
        let bytes = try? OpenFile(path, flags: O_RDONLY).read(count: 4096, at: 0)
        return String(decoding: bytes ?? [], as: UTF8.self).split(whereSeparator: \.isWhitespace)
    }

    // MARK: - Files

    /// Writes bytes outside the mount and copies them into a chat.
    @discardableResult
    func copy(_ bytes: [UInt8], as name: String, to chat: String) async throws -> String {
        let source = try relays.folder.write(bytes, to: "\(self.name)/source/\(name)")
        let outcome = try await Shell.run("cp", [source, "\(chats)/\(chat)/"])
        guard outcome.succeeded else { throw WaitedInVain("cp: \(outcome.errors)") }
        return try await Self.digest(source)
    }

    /// The SHA-256 of the file as read through the mount.
    func read(_ name: String, in chat: String) async throws -> String {
        try await Self.digest("\(chats)/\(chat)/\(name)")
    }

    private static func digest(_ path: String) async throws -> String {
        let outcome = try await Shell.script(
            #"sha256sum < "$FILE""#, environment: ["FILE": path], limit: .seconds(120))
        guard outcome.succeeded else { throw WaitedInVain("reading: \(outcome.errors)") }
        return String(outcome.output.prefix(64))
    }

    func folders() throws -> [String] { try relays.folder.names(in: "\(name)/Chats") }

    func names(in chat: String) throws -> [String] { try relays.folder.names(in: "\(name)/Chats/\(chat)") }

    func waitForFile(_ name: String, in chat: String) async throws {
        try await wait(until: "\(name) is shown to \(self.name)", within: .seconds(90)) {
            access("\(chats)/\(chat)/\(name)", F_OK) == 0
        }
    }

    func attribute(_ attribute: String, of name: String, in chat: String) throws -> String? {
        try ExtendedAttribute.text("user.chatfs.\(attribute)", of: "\(chats)/\(chat)/\(name)")
    }

    func waitForState(_ states: String..., of name: String, in chat: String) async throws {
        var state: String?
        do {
            try await wait(until: "it is \(states)", within: .seconds(120)) {
                state = try attribute("state", of: name, in: chat)
                return states.contains(state ?? "")
            }
        } catch is WaitedInVain {
            let error = try attribute("error", of: name, in: chat)
            throw WaitedInVain(
                "\(name) of \(self.name) is \(state ?? "nothing"), not \(states): \(error ?? "no error")")
        }
    }

    /// The folders of sent files below the core's files folder.
    func staged() throws -> [String] { try relays.folder.names(in: "\(name)/files/outbox") }
}
