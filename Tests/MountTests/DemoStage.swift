import Glibc
import Posix
import TestSupport

/// A running demo: a relay, alice and bob connected and in a group, both mounted, samples sent. Removed with the last
/// reference.
final class DemoStage: Sendable {
    let folder: TemporaryFolder
    let process: RunningProcess
    /// The demo's folder with `alice` and `bob`.
    let path: String

    static func start(
        in folder: TemporaryFolder? = nil, ignoredSignals: [Int32] = [], blockedSignals: [Int32] = []
    ) async throws -> DemoStage {
        let folder = try folder ?? TemporaryFolder()
        let process = try await ChatFSProcess.start(
            ["demo", folder.path("demo")], ignoredSignals: ignoredSignals, blockedSignals: blockedSignals)
        let stage = DemoStage(folder, process)
        try await process.line("that it is ready", within: .seconds(120)) {
            $0.contains("Ctrl-C ends the demo")
        }
        return stage
    }

    private init(_ folder: TemporaryFolder, _ process: RunningProcess) {
        self.folder = folder
        self.process = process
        path = folder.path("demo")
    }

    func path(_ name: String) -> String { path + "/" + name }

    /// Process ids of the demo's children.
    func children() throws -> [pid_t] { try Self.children(of: process.processIdentifier) }

    static func children(of parent: pid_t) throws -> [pid_t] {
        let threads = try PrivateFolder.names(in: OpenFile("/proc/\(parent)/task", flags: O_RDONLY))
        return threads.flatMap { thread -> [pid_t] in
            guard
                let file = try? OpenFile("/proc/\(parent)/task/\(thread)/children", flags: O_RDONLY),
                let bytes = try? file.read(count: 4096, at: 0)
            else { return [] }
            return String(decoding: bytes, as: UTF8.self).split(separator: " ").compactMap { pid_t($0) }
        }
    }

    /// Reads a file below the demo's folder.
    func read(_ name: String) throws -> [UInt8] {
        let file = try OpenFile(path(name), flags: O_RDONLY)
        return try file.read(count: Int(try file.size()), at: 0)
    }

    func state(_ name: String) throws -> String? {
        try ExtendedAttribute.text("user.chatfs.state", of: path(name))
    }

    /// Requires that the demo's mounts, files and processes are gone.
    static func expectNothingLeft(of path: String, children: [pid_t]) async throws {
        try await wait(until: "the demo's children are gone") {
            children.allSatisfy { kill($0, 0) == -1 && errno == ESRCH }
        }
        guard try MountTable.mounts(below: path).isEmpty else { throw WaitedInVain("a mount is left") }
        guard access(path, F_OK) == -1 else { throw WaitedInVain("the demo's folder is left") }
    }
}
