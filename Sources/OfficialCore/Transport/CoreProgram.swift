import Base
import Glibc
import Network
import Posix

/// The running `simplex-chat` of a transport: started when it is asked for and does not run.
actor CoreProgram {
    private struct Running {
        let child: ChildProcess
        let endpoint: Endpoint
    }

    private let settings: CoreProgramSettings
    private let executable: String
    private var running: Running?
    /// Two lanes may ask at once; one start serves both.
    private var starting: Task<Result<Running, OfficialCoreError>, Never>?
    private var isStopped = false

    init(_ settings: CoreProgramSettings) async throws(OfficialCoreError) {
        self.settings = settings
        executable = try Self.find(settings.program)
    }

    /// The path of the program; a bare name is looked for in PATH.
    static func find(_ program: String?) throws(OfficialCoreError) -> String {
        let path = program ?? ProgramSearch.path(of: "simplex-chat")
        guard let found = path, found.isAbsolutePath, access(found, X_OK) == 0 else {
            throw OfficialCoreError(
                .notInstalled,
                program == nil
                    ? "There is no program simplex-chat in PATH; name it with simplex-chat:/path."
                    : "There is no program at the path given after simplex-chat:.")
        }
        return found
    }

    /// Where the program listens; starts it first when it does not run.
    func endpoint() async throws(OfficialCoreError) -> Endpoint {
        guard !isStopped else { throw OfficialCoreError(.closed, "The SimpleX core is closed.") }
        if let running, running.child.endingIfEnded() == nil { return running.endpoint }
        let task =
            starting
            ?? Task { [settings, executable] in
                do throws(OfficialCoreError) {
                    return .success(try await Self.start(executable, settings))
                } catch {
                    return .failure(error)
                }
            }
        starting = task
        let outcome = await task.value
        if starting == task {
            starting = nil
            // Why there is none is thrown below.
            running = try? outcome.get()
        }
        let started = try outcome.get()
        // Stopped meanwhile: the last reference kills it.
        guard !isStopped else { throw OfficialCoreError(.closed, "The SimpleX core is closed.") }
        return started.endpoint
    }

    /// Ends the program: politely, then less so. At most 11 seconds.
    func stop() async {
        isStopped = true
        // One that could not be started has told who started it, and needs no end.
        if let starting, let started = try? await starting.value.get() { running = started }
        guard let child = running?.child else { return }
        running = nil
        for (signal, timeout) in [(SIGINT, 5), (SIGTERM, 3), (SIGKILL, 3)] {
            child.send(signal)
            if await child.ending(within: .seconds(timeout)) != nil { return }
        }
    }

    // MARK: Starting

    private static func start(
        _ executable: String, _ settings: CoreProgramSettings
    ) async throws(OfficialCoreError) -> Running {
        let condition = try await ThreadPool.shared.run { () throws(OfficialCoreError) in
            try settings.database.checkUnused()
            do throws(SystemError) {
                return try settings.database.condition()
            } catch {
                throw OfficialCoreError(.system, error.sentence, cause: error)
            }
        }
        switch condition {
        case .encrypted:
            throw OfficialCoreError(
                .encryptedDatabase,
                "This SimpleX database is encrypted; the program takes its passphrase only where everybody "
                    + "sees it. Use the library (--core lib:/path/libsimplex.so), or start the program "
                    + "yourself and attach to it (--core ws://127.0.0.1:PORT).")
        case .missing:
            var name = settings.newProfile
            if name == nil { name = await settings.askProfile?() }
            guard let name else {
                throw OfficialCoreError(
                    .noProfile,
                    "There is no SimpleX database yet: give your first profile a name with --profile.")
            }
            try await createProfile(name, executable, settings)
        case .plain: break
        }
        let limit = ContinuousClock.now + settings.startTimeout
        // The port may be taken between its choice and its use.
        for _ in 0..<3 {
            let port = try await ThreadPool.shared.run { () throws(OfficialCoreError) in try freePort() }
            let words = arguments(settings) + running(settings) + ["-p", String(port)]
            let child = try await launch(executable, words, settings, input: .null)
            if try await listens(child, on: port, until: limit) {
                return Running(child: child, endpoint: Endpoint(host: "127.0.0.1", port: port))
            }
        }
        throw OfficialCoreError(
            .system, "The SimpleX program found no port of its own to listen on.")
    }

    private static func arguments(_ settings: CoreProgramSettings) -> [String] {
        [
            "-d", settings.database.prefix, "-y", "--files-folder", settings.filesFolder, "--temp-folder",
            settings.temporaryFolder,
        ] + settings.arguments
    }

    /// What is said only to one that stays; the one that makes a profile starts nothing.
    private static func running(_ settings: CoreProgramSettings) -> [String] {
        settings.startsChats ? [] : ["--maintenance"]
    }

    private static func launch(
        _ executable: String, _ arguments: [String], _ settings: CoreProgramSettings,
        input: ChildProcess.Stream
    ) async throws(OfficialCoreError) -> ChildProcess {
        var start = ChildProcess.Settings(executable, arguments)
        // The program writes every command with its text and paths to its output: nobody is to see it.
        start.output = .pipe
        start.errors = .pipe
        start.input = input
        start.ownGroup = true
        start.parentDeathSignal = SIGTERM
        // Without a UTF-8 locale it cannot print a name and ends.
        start.environment = ["LC_ALL": "C.UTF-8"]
        do throws(SystemError) {
            let child = try await ChildProcess.start(start)
            for stream in [child.output, child.errors] { if let stream { drop(stream) } }
            return child
        } catch {
            throw OfficialCoreError(.notInstalled, error.sentence, cause: error)
        }
    }

    /// Takes what a stream says and forgets it, so that the program never waits for a reader.
    private static func drop(_ stream: OpenFile) {
        Thread.start("simplex-output") {
            var buffer = [UInt8](repeating: 0, count: 16_384)
            while let count = try? check(
                "read a child's output", { read(stream.descriptor, &buffer, 16_384) }),
                count > 0
            {}
        }
    }

    /// The first start asks for a name on the terminal; it gets it here. The profile is an ordinary one,
    /// not a bot's as the program's own option makes it.
    private static func createProfile(
        _ name: String, _ executable: String, _ settings: CoreProgramSettings
    ) async throws(OfficialCoreError) {
        guard !name.isEmpty, name.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F }) else {
            throw OfficialCoreError(.invalidCommand, "A profile's name has no line breaks.")
        }
        let child = try await launch(
            executable, arguments(settings) + ["-e", "/user", "-t", "0"], settings, input: .pipe)
        let line = Array((name + "\n").utf8)
        await ThreadPool.shared.run {
            guard let input = child.input else { return }
            _ = line.withUnsafeBytes { write(input.descriptor, $0.baseAddress, $0.count) }
        }
        guard await child.ending(within: .seconds(60)) == .code(0) else {
            throw OfficialCoreError(.database, "The SimpleX program could not make the profile.")
        }
    }

    private static func freePort() throws(OfficialCoreError) -> UInt16 {
        guard let port = LoopbackPort.unused() else {
            throw OfficialCoreError(.system, "There is no free port on this machine.")
        }
        return port
    }

    /// Waits until the port is listened on. True when it is our child that does; false when it is somebody
    /// else.
    private static func listens(
        _ child: ChildProcess, on port: UInt16, until limit: ContinuousClock.Instant
    ) async throws(OfficialCoreError) -> Bool {
        while ContinuousClock.now < limit {
            if let ending = child.endingIfEnded() {
                throw OfficialCoreError(
                    .database,
                    "The SimpleX program ended before it listened (\(ending.words)): its database may be newer, "
                        + "damaged, or without a profile. Run it in a terminal to see what it says.")
            }
            let (listeners, own) = await ThreadPool.shared.run {
                (ProcessTable.listeners(on: port), ProcessTable.sockets(of: child.identifier))
            }
            if !listeners.isEmpty { return !listeners.isDisjoint(with: own) }
            try? await Task.sleep(for: .milliseconds(50))
        }
        throw OfficialCoreError(.timeout, "The SimpleX program did not begin to listen in time.")
    }
}

extension ChildProcess.Ending {
    fileprivate var words: String {
        switch self {
        case .code(let code): "exit code \(code)"
        case .signal(let signal): "signal \(signal)"
        }
    }
}
