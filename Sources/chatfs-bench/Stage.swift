import Base
import Glibc
import Posix

/// A relay, two profiles that know each other, both mounted, and a folder for the same work without
/// chatfs; all children of this process, all removed at the end.
final class Stage: Sendable {
    /// Set by a stop signal: every wait and every repetition ends at the next look.
    static let isInterrupted = Lock(false)

    let plan: Plan
    let folder: PrivateFolder
    let relay: ObservedProcess
    let relayAddress: String
    /// Of alice and of bob; none where a measure needs only the relay.
    let mounts: [ObservedProcess]

    private init(
        _ plan: Plan, _ folder: PrivateFolder, _ relay: ObservedProcess, _ relayAddress: String,
        _ mounts: [ObservedProcess]
    ) {
        self.plan = plan
        self.folder = folder
        self.relay = relay
        self.relayAddress = relayAddress
        self.mounts = mounts
    }

    static func build(_ plan: Plan, mounting: Bool) async throws -> Stage {
        let name = "chatfs-bench-" + Hexadecimal.encode(SystemRandomSource().bytes(6))
        let folder = try PrivateFolder(plan.folder + "/" + name, purpose: "chatfs bench")
        do {
            let relay = try await start(["relay", "--listen", "127.0.0.1:0", "--dir", folder.path + "/relay"])
            guard
                let address = await relay.line(within: .seconds(30), where: { $0.hasPrefix("xftp://") })
            else { throw failure("The relay", relay) }
            _ = try folder.subfolder("plain")
            let mounts = mounting ? try await mountBoth(address, folder) : []
            return Stage(plan, folder, relay, address, mounts)
        } catch {
            try await remove(folder)
            throw error
        }
    }

    private static func mountBoth(
        _ address: String, _ folder: PrivateFolder
    ) async throws -> [ObservedProcess] {
        let data = ["--data", folder.path + "/data"]
        for person in ["alice", "bob"] { try await run(["profile", "create", person] + data) }
        try await run(["connect", "alice", "bob"] + data)
        return [try await mount("alice", address, folder), try await mount("bob", address, folder)]
    }

    private static func mount(
        _ person: String, _ address: String, _ folder: PrivateFolder
    ) async throws -> ObservedProcess {
        _ = try folder.subfolder(person)
        let path = folder.path + "/" + person
        let mount = try await start([
            "mount", path, "--profile", person, "--relay", address, "--quiet-time", "0",
            "--cache-dir", folder.path + "/cache-" + person, "--data", folder.path + "/data",
        ])
        let end = ContinuousClock.now + .seconds(30)
        while !(try MountTable.mounts(below: path).contains { $0.type == "fuse.chatfs" }) {
            guard mount.isRunning, ContinuousClock.now < end else { throw failure("The mount", mount) }
            try await Task.sleep(for: .milliseconds(10))
        }
        return mount
    }

    /// The program beside this one, so that both are of one build.
    static let program: String = {
        var buffer = [CChar](repeating: 0, count: 4096)
        let count = max(0, readlink("/proc/self/exe", &buffer, buffer.count))
        let own = String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return own.split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 } + "/chatfs"
    }()

    static func start(_ arguments: [String]) async throws -> ObservedProcess {
        var settings = ChildProcess.Settings(program, arguments)
        settings.parentDeathSignal = SIGTERM
        return try await ObservedProcess.start(settings)
    }

    /// Runs a command to its end; answers its output.
    @discardableResult
    static func run(_ arguments: [String]) async throws -> String {
        let child = try await start(arguments)
        guard await child.ending(within: .seconds(600)) == .code(0) else {
            throw failure("chatfs \(arguments[0])", child)
        }
        return child.output
    }

    static func failure(_ name: String, _ child: ObservedProcess) -> BenchError {
        BenchError(
            "\(name) did not work: " + child.errors.split(separator: "\n").suffix(2).joined(separator: " "))
    }

    /// Below alice's mount, what bob gets; below bob's, what alice sent.
    func path(_ person: String, _ chat: String, _ name: String) -> String {
        "\(folder.path)/\(person)/\(chat)/\(name)"
    }

    /// The same for the plain filesystem.
    func plain(_ name: String) -> String { folder.path + "/plain/" + name }

    /// Looks often until `holds`; ends with an error after ten minutes or at a stop signal.
    func wait(for what: String, until holds: () throws -> Bool) async throws {
        let end = ContinuousClock.now + .seconds(600)
        while try !holds() {
            if Self.isInterrupted.withLock({ $0 }) { throw BenchError("Stopped.") }
            let children = [relay] + mounts
            guard children.allSatisfy(\.isRunning), ContinuousClock.now < end else {
                let complaints = children.map(\.errors).joined(separator: " ")
                throw BenchError("Waited in vain for \(what). \(complaints)")
            }
            try await Task.sleep(for: .milliseconds(2))
        }
    }

    func takeDown() async throws {
        kill(relay.identifier, SIGCONT)
        for mount in mounts { await mount.stop(patience: .seconds(20)) }
        await relay.stop(patience: .seconds(10))
        try await Self.remove(folder)
    }

    private static func remove(_ folder: PrivateFolder) async throws {
        for mount in try MountTable.mounts(below: folder.path) { try? await MountTable.detach(mount.path) }
        try await ThreadPool.shared.run { () throws(SystemError) in try folder.remove() }
    }
}
