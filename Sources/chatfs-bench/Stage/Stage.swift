import Base
import Glibc
import Posix

/// What one measure needs: a folder of its own and processes. All of it goes with `takeDown`, whatever
/// happened, and at once with `abandon`.
final class Stage: Sendable {
    let plan: Plan
    let folder: PrivateFolder
    private let state = Lock(State(), rank: .collection)

    private struct State {
        var children: [ObservedProcess] = []
        /// Those of the children that are run to their end: they may end while something else is waited for.
        var passing: [ObservedProcess] = []
        /// Why everything was stopped.
        var end: BenchError?
    }

    init(_ plan: Plan) throws(SystemError) {
        self.plan = plan
        let name = "chatfs-bench-" + Hexadecimal.encode(SystemRandomSource().bytes(6))
        folder = try PrivateFolder(plan.folder + "/" + name, purpose: "chatfs bench")
        _ = try folder.subfolder("plain")
        // As systemd would give it: data is encrypted, as that of users is.
        let credentials = try folder.subfolder("credentials")
        try PrivateFolder.write(SystemRandomSource().bytes(32), to: "chatfs.key", in: credentials)
    }

    /// A path in the stage's folder.
    func path(_ name: String) -> String { folder.path + "/" + name }
    /// The same for work on the plain filesystem.
    func plain(_ name: String) -> String { folder.path + "/plain/" + name }

    /// Makes a folder; answers its path.
    func makeFolder(_ name: String) throws(SystemError) -> String {
        _ = try folder.subfolder(name)
        return path(name)
    }

    /// Removes a folder that was made, with all that is in it.
    func remove(_ name: String) async throws {
        let path = path(name)
        try await ThreadPool.shared.run { () throws(SystemError) in
            try PrivateFolder.removeContents(of: OpenFile(path, flags: O_RDONLY | O_DIRECTORY), keeping: [])
            rmdir(path)
        }
    }

    // MARK: - Processes

    /// The program beside this one, so that both are of one build.
    static let chatfs = ownFolder + "/chatfs"

    static let ownFolder: String = {
        var buffer = [CChar](repeating: 0, count: 4096)
        let count = max(0, readlink("/proc/self/exe", &buffer, buffer.count))
        let own = String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return own.parentPath
    }()

    /// Starts a program that goes with this stage. It is asked to end when this process is gone.
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
            // Previews are offered to the desktop of nobody.
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

    /// Runs a program to its end; answers its output.
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

    /// Has the disk take what was written before, so that what is measured next does not wait for it.
    func settle() async throws {
        let path = folder.path
        try await ThreadPool.shared.run { () throws(SystemError) in
            try OpenFile(path, flags: O_RDONLY).synchroniseFilesystem()
        }
    }

    /// The same, and memory at hand for what is measured next.
    func settleWithMemory() async throws {
        try await settle()
        await ThreadPool.shared.run { FreeMemory.fetch() }
        try await Task.sleep(for: .milliseconds(500))
    }

    /// Ends a process that was started here, politely first.
    func end(_ child: ObservedProcess) async {
        await child.stop(timeout: .seconds(10))
        state.withLock { $0.children.removeAll { $0 === child } }
    }

    /// What a process says about its failure; or that the run was stopped, which then is the reason.
    func failure(_ name: String, _ child: ObservedProcess) -> BenchError {
        if let end = state.withLock({ $0.end }) { return end }
        let words = child.errors.split(separator: "\n").suffix(2).joined(separator: " ")
        return BenchError(.failed, "\(name) did not work" + (words.isEmpty ? "." : ": \(words)"))
    }

    // MARK: - Waiting

    /// Looks every two milliseconds until `holds`; ends with an error when the stage is over, when one of its
    /// processes ended, or after a minute.
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

    /// Throws when the stage is over.
    func check() throws(BenchError) {
        if let end = state.withLock({ $0.end }) { throw end }
    }

    // MARK: - The end

    /// Kills everything at once, so that whoever waits for a file of a mount is answered by its end. The
    /// measure then fails with this reason.
    func abandon(_ reason: String) {
        let children = state.withLock { state in
            if state.end == nil { state.end = BenchError(.stopped, reason) }
            return state.children
        }
        for child in children { child.child.sendToGroup(SIGKILL) }
    }

    func takeDown() async throws {
        // The latest first: mounts before what they stand on.
        let children = state.withLock { state in
            defer { state.children = [] }
            return state.children.reversed()
        }
        for child in children {
            // A relay that stands still would not hear that it should end.
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
