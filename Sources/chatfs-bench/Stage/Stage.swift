import Base
import Glibc
import Posix

/// The folder and processes of one measure. `takeDown` removes all of it in any case, `abandon` at once.
final class Stage: Sendable {
    let plan: Plan
    let folder: PrivateFolder
    private let state = Lock(State(), rank: .collection)

    private struct State {
        var children: [ObservedProcess] = []
        /// Children that are run to their end: they may end during other waits.
        var passing: [ObservedProcess] = []
        /// The reason for the abandonment.
        var end: BenchError?
    }

    init(_ plan: Plan) throws(SystemError) {
        self.plan = plan
        let name = "chatfs-bench-" + Hexadecimal.encode(SystemRandomSource().bytes(6))
        folder = try PrivateFolder(plan.folder + "/" + name, purpose: "chatfs bench")
        _ = try folder.subfolder("plain")
        // As from systemd: data is encrypted, as a user's is.
        let credentials = try folder.subfolder("credentials")
        try PrivateFolder.write(SystemRandomSource().bytes(32), to: "chatfs.key", in: credentials)
    }

    /// Returns a path in the stage's folder.
    func path(_ name: String) -> String { folder.path + "/" + name }
    /// The same for work on the plain filesystem.
    func plain(_ name: String) -> String { folder.path + "/plain/" + name }

    /// Creates a folder and returns its path.
    func makeFolder(_ name: String) throws(SystemError) -> String {
        _ = try folder.subfolder(name)
        return path(name)
    }

    /// Removes a created folder with its contents.
    func remove(_ name: String) async throws {
        let path = path(name)
        try await ThreadPool.shared.run { () throws(SystemError) in
            try PrivateFolder.removeContents(of: OpenFile(path, flags: O_RDONLY | O_DIRECTORY), keeping: [])
            rmdir(path)
        }
    }

    // MARK: - Processes

    /// The program next to this one, so that both are of one build.
    static let chatfs = ownFolder + "/chatfs"

    static let ownFolder = (SymbolicLink.target(of: "/proc/self/exe") ?? "").parentPath

    /// Starts a program that ends with this stage, and gets a signal when this process ends.
    func start(
        _ program: String, _ arguments: [String], environment: [String: String?] = [:]
    ) async throws -> ObservedProcess {
        try await start(program, arguments, environment, isPassing: false)
    }

    private func start(
        _ program: String, _ arguments: [String], _ environment: [String: String?], isPassing: Bool
    ) async throws -> ObservedProcess {
        try check()
        var settings = ChildProcess.Settings(program, arguments)
        settings.environment = [
            "CREDENTIALS_DIRECTORY": path("credentials"), "DBUS_SESSION_BUS_ADDRESS": nil,
            // Without a desktop for previews.
            "XDG_CACHE_HOME": path("desktop"),
        ].merging(environment) { $1 }
        settings.parentDeathSignal = SIGTERM
        let child = try await ObservedProcess.start(settings)
        let isOver = state.withLock { state in
            state.children.append(child)
            if isPassing { state.passing.append(child) }
            return state.end != nil
        }
        if isOver { child.child.sendToGroup(SIGKILL) }
        return child
    }

    /// Runs a program to its end and returns its output.
    @discardableResult
    func run(
        _ program: String, _ arguments: [String], environment: [String: String?] = [:]
    ) async throws -> String {
        let child = try await start(program, arguments, environment, isPassing: true)
        let ending = await child.ending(within: .seconds(600))
        state.withLock { state in
            state.children.removeAll { $0 === child }
            state.passing.removeAll { $0 === child }
        }
        guard ending == .code(0) else {
            let name = program.lastPathName ?? program
            throw failure("\(name) \(arguments.first ?? "")", child)
        }
        return child.output
    }

    /// Writes dirty pages to disk, so that the next measurement does not wait for it.
    func settle() async throws {
        let path = folder.path
        try await ThreadPool.shared.run { () throws(SystemError) in
            try OpenFile(path, flags: O_RDONLY).synchroniseFilesystem()
        }
    }

    /// The same, and prepares memory for the next measurement.
    func settleWithMemory() async throws {
        try await settle()
        await ThreadPool.shared.run { FreeMemory.fetch() }
        try await Task.sleep(for: .milliseconds(500))
    }

    /// Ends a started process, with SIGTERM first.
    func end(_ child: ObservedProcess) async {
        await child.stop(timeout: .seconds(10))
        state.withLock { $0.children.removeAll { $0 === child } }
    }

    /// Returns the error from a process's output, or that of a stopped run.
    func failure(_ name: String, _ child: ObservedProcess) -> BenchError {
        if let end = state.withLock({ $0.end }) { return end }
        let words = child.errors.split(separator: "\n").suffix(2).joined(separator: " ")
        return BenchError(.failed, "\(name) did not work" + (words.isEmpty ? "." : ": \(words)"))
    }

    // MARK: - Waiting

    /// Checks every two milliseconds until `holds`. Fails if the stage is abandoned, one of its processes ended, or
    /// after a minute.
    func wait(for what: String, until holds: () throws -> Bool) async throws {
        let end = ContinuousClock.now + .seconds(60)
        while try !holds() {
            try check()
            let dead = state.withLock { state in
                state.children.first { child in
                    !child.isRunning && !state.passing.contains { $0 === child }
                }
            }
            if let dead {
                throw failure("A process", dead)
            }
            guard ContinuousClock.now < end else { throw BenchError(.failed, "Waited in vain for \(what).") }
            try await Task.sleep(for: .milliseconds(2))
        }
    }

    /// Throws if the stage is abandoned.
    func check() throws(BenchError) {
        if let end = state.withLock({ $0.end }) { throw end }
    }

    // MARK: - The end

    /// Kills everything at once, so that waiting readers of a mount fail. The measure then fails with this reason.
    func abandon(_ reason: String) {
        let children = state.withLock { state in
            if state.end == nil { state.end = BenchError(.stopped, reason) }
            return state.children
        }
        for child in children { child.child.sendToGroup(SIGKILL) }
    }

    func takeDown() async throws {
        // The latest first: mounts before their relays.
        let children = state.withLock { state in
            defer { state.children = [] }
            return state.children.reversed()
        }
        for child in children {
            // A stopped relay gets no signal to end.
            child.send(SIGCONT)
            await child.stop(timeout: .seconds(10))
        }
        for mount in try MountTable.mounts(below: folder.path) { _ = await mount.detach() }
        let folder = folder
        try await ThreadPool.shared.run { () throws(SystemError) in try folder.remove() }
    }
}

extension ObservedProcess {
    func send(_ signal: Int32) { child.send(signal) }
}
