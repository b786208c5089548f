import Base
import Glibc
import Network
import Posix

/// The running `simplex-chat` of a transport; started on demand.
actor CoreProgram {
    private struct Running {
        let child: ChildProcess
        let endpoint: Endpoint
    }

    private let settings: CoreProgramSettings
    private let executable: String
    private var running: Running?
    /// Both lanes share one start.
    private var starting: Task<Result<Running, OfficialCoreError>, Never>?
    private var isStopped = false

    init(_ settings: CoreProgramSettings) async throws(OfficialCoreError) {
        self.settings = settings
        executable = try Self.find(settings.program)
    }

    /// Returns the path of the program. A bare name is searched for in PATH.
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

    /// Returns the program's listening address. Starts the program if it does not run.
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
            // The error is thrown below.
            running = try? outcome.get()
        }
        let started = try outcome.get()
        // Stopped meanwhile; releasing the last reference kills it.
        guard !isStopped else { throw OfficialCoreError(.closed, "The SimpleX core is closed.") }
        return started.endpoint
    }

    /// Ends the program with SIGINT, SIGTERM and SIGKILL, in at most 11 s.
    func stop() async {
        isStopped = true
        // A failed start was reported to its caller and needs no stop.
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
                "This SimpleX database is encrypted; the program accepts its passphrase only in its "
                    + "arguments, which all users see. Use the library (--core lib:/path/libsimplex.so), or "
                    + "start the program yourself and attach to it (--core ws://127.0.0.1:PORT).")
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
            .system, "The SimpleX program found no free port to listen on.")
    }

    private static func arguments(_ settings: CoreProgramSettings) -> [String] {
        [
            "-d", settings.database.prefix, "-y", "--files-folder", settings.filesFolder, "--temp-folder",
            settings.temporaryFolder,
        ] + settings.arguments
    }

    /// Arguments for the running program only, not for creating a profile.
    private static func running(_ settings: CoreProgramSettings) -> [String] {
        settings.startsChats ? [] : ["--maintenance"]
    }

    private static func launch(
        _ executable: String, _ arguments: [String], _ settings: CoreProgramSettings,
        input: ChildProcess.Stream
    ) async throws(OfficialCoreError) -> ChildProcess {
        var start = ChildProcess.Settings(executable, arguments)
        // Pipes, because the program prints every command with its text and paths.
        start.output = .pipe
        start.errors = .pipe
        start.input = input
        start.ownGroup = true
        start.parentDeathSignal = SIGTERM
        // Without a UTF-8 locale it fails to print a name and exits.
        start.environment = ["LC_ALL": "C.UTF-8"]
        do throws(SystemError) {
            let child = try await ChildProcess.start(start)
            for stream in [child.output, child.errors] { if let stream { drop(stream) } }
            return child
        } catch {
            throw OfficialCoreError(.notInstalled, error.sentence, cause: error)
        }
    }

    /// Reads and discards a stream, so that the program never blocks on it.
    private static func drop(_ stream: OpenFile) {
        Thread.start("simplex-output") {
            var buffer = [UInt8](repeating: 0, count: 16_384)
            while let count = try? check(
                "read a child's output", { read(stream.descriptor, &buffer, 16_384) }),
                count > 0
            {}
        }
    }

    /// Enters the name that the program asks for at its first start. This creates an ordinary profile; the
    /// program's own option would create a bot's.
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
            throw OfficialCoreError(.database, "The SimpleX program could not create the profile.")
        }
    }

    private static func freePort() throws(OfficialCoreError) -> UInt16 {
        guard let port = LoopbackPort.unused() else {
            throw OfficialCoreError(.system, "There is no free port on this machine.")
        }
        return port
    }

    /// Waits until the port has a listener. Returns true for the child, false for another process.
    private static func listens(
        _ child: ChildProcess, on port: UInt16, until limit: ContinuousClock.Instant
    ) async throws(OfficialCoreError) -> Bool {
        while ContinuousClock.now < limit {
            if let ending = child.endingIfEnded() {
                throw OfficialCoreError(
                    .database,
                    "The SimpleX program ended before it listened (\(ending.words)): its database may be newer, "
                        + "damaged, or without a profile. Run it in a terminal to see its output.")
            }
            let (listeners, own) = await ThreadPool.shared.run {
                (ProcessTable.listeners(on: port), ProcessTable.sockets(of: child.identifier))
            }
            if !listeners.isEmpty { return !listeners.isDisjoint(with: own) }
            try? await Task.sleep(for: .milliseconds(50))
        }
        throw OfficialCoreError(.timeout, "The SimpleX program did not start listening in time.")
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
