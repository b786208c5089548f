import Glibc
import Posix
import TestSupport
import Testing

/// A path is not a mount: other mounts may cover it, and copies may exist elsewhere.
@Suite(
    "Unmounting the right mount", .serialized,
    .enabled(if: geteuid() == 0, "only root can mount what else is needed"))
struct MountIdentityTests {
    @Test("SIGTERM spares a mount on top")
    func coveredAtTheSignal() async throws {
        let mounts = try await TwoMounts.start(mounting: ["alice"])
        try await mount("tmpfs", at: mounts.path("alice"))
        try mounts.folder.write([1], to: "alice/mine.txt")
        let daemon = try mounts.daemon("alice")
        #expect(try await mounts.leave("alice") == .code(0))
        #expect(daemon.errors.contains("Another mount covers this one"))
        #expect(try mounts.folder.read("alice/mine.txt") == [1])

        try await mounts.mount("alice", at: mounts.path("elsewhere"))
        #expect(try await mounts.leave("alice") == .code(0))
        try await unmount(mounts.path("alice"))
        try await mounts.mount("alice")
        #expect(try await mounts.leave("alice") == .code(0))
        #expect(try MountTable.mounts(below: mounts.folder.path).isEmpty)
    }

    @Test("chatfs unmount refuses a covered mount")
    func coveredAtTheCommand() async throws {
        let mounts = try await TwoMounts.start(mounting: ["alice"])
        try await mount("tmpfs", at: mounts.path("alice"))
        let refused = try await ChatFSProcess.run(["unmount", mounts.path("alice")])
        #expect(refused.ending == .code(1))
        #expect(refused.errors.contains("Another mount covers"), "\(refused.errors)")
        #expect(try MountTable.mount(at: mounts.path("alice"))?.type == "tmpfs")
        try await unmount(mounts.path("alice"))
        #expect(try mounts.folder.names(in: "alice/bob").isEmpty)
        let done = try await ChatFSProcess.run(["unmount", mounts.path("alice")])
        #expect(done.succeeded, "\(done.errors)")
        #expect(try await mounts.daemon("alice").ending() == .code(0))
    }

    @Test("unmounting ends copies in other namespaces")
    func copyElsewhere() async throws {
        let mounts = try await TwoMounts.start()
        let bytes = TwoMounts.bytes(300_000)
        try await mounts.send(bytes, as: "known.bin")
        #expect(try mounts.read("bob/alice/known.bin") == bytes)
        let other = try await OtherNamespace.start()
        #expect(try await other.count(mounts.path("bob/alice/known.bin")) == "300000")
        let done = try await ChatFSProcess.run(["unmount", mounts.path("bob")])
        #expect(done.succeeded && done.errors.isEmpty, "\(done.errors)")
        #expect(try await mounts.daemon("bob").ending() == .code(0))
        #expect(try await other.count(mounts.path("bob/alice/known.bin")) == "failed")
        try await mounts.mount("bob")
        #expect(try mounts.read("bob/alice/known.bin") == bytes)
        try await other.end()
    }

    @Test("a draft open in a copy is recovered")
    func writerElsewhere() async throws {
        let mounts = try await TwoMounts.start()
        let other = try await OtherNamespace.start()
        // Not the shell's redirection, which closes copies of the descriptor and looks like a completion.
        let writer = """
            import sys, time
            file = open(sys.argv[1], 'wb', buffering=0)
            file.write(b'half')
            print('ok', flush=True)
            try:
                while file.write(b' more'): time.sleep(0.05)
            except OSError:
                print('cut off', flush=True)
            """
        let path = mounts.path("alice/bob/half.txt")
        #expect(try await other.run("python3 -c \"\(writer)\" '\(path)' &") == "ok")
        #expect(try await mounts.leave("alice") == .code(0))
        try await other.expect("cut off")
        try await mounts.mount("alice")
        #expect(try mounts.read("alice/.chatfs/recovered/half.txt").starts(with: Array("half more".utf8)))
        try mounts.write([1], to: "alice/bob/later.txt")
        try await mounts.waitForFile("bob/alice/later.txt")
        #expect(try mounts.folder.names(in: "bob/alice") == ["later.txt"])
        try await other.end()
    }

    @Test("chatfs unmount works from another namespace")
    func commandElsewhere() async throws {
        let mounts = try await TwoMounts.start(mounting: ["alice"])
        let done = try await Shell.run(
            "unshare",
            ["--mount", "--propagation", "private", ChatFSProcess.path, "unmount", mounts.path("alice")])
        #expect(done.succeeded, "\(done.errors)")
        #expect(try await mounts.daemon("alice").ending() == .code(0))
        #expect(try MountTable.mounts(below: mounts.folder.path).isEmpty)
    }

    @Test("a moved mount is found and unmounted")
    func moved() async throws {
        let mounts = try await TwoMounts.start(mounting: ["alice"])
        // Moving needs a private parent mount; without one, the test's bind mount would not be private.
        let parent = try mounts.folder.makeFolder("private")
        for step in [["--bind", parent, parent], ["--make-private", parent]] {
            #expect(try await Shell.run("mount", step).succeeded)
        }
        try await mounts.mount("bob", at: mounts.folder.makeFolder("private/bob"))
        let target = try mounts.folder.makeFolder("private/moved")
        #expect(try await Shell.run("mount", ["--move", mounts.path("private/bob"), target]).succeeded)
        #expect(try mounts.folder.names(in: "private/moved/alice").isEmpty)
        #expect(try await mounts.leave("bob") == .code(0))
        #expect(try MountTable.mounts(below: parent).map(\.path) == [parent])
        try await unmount(parent)
    }

    private func mount(_ type: String, at path: String) async throws {
        let outcome = try await Shell.run("mount", ["-t", type, "none", path])
        try #require(outcome.succeeded, "\(outcome.errors)")
    }

    private func unmount(_ path: String) async throws {
        let outcome = try await Shell.run("umount", [path])
        try #require(outcome.succeeded, "\(outcome.errors)")
    }
}

/// A lazy unmount with open files: the mount leaves the tree, the connection stays.
@Suite("Lazy unmounting", .serialized)
struct LazyUnmountTests {
    @Test("the process ends despite open files")
    func reader() async throws {
        let mounts = try await TwoMounts.start()
        try await mounts.send(TwoMounts.bytes(300_000), as: "known.bin")
        let open = try OpenFile(mounts.path("bob/alice/known.bin"), flags: O_RDONLY)
        #expect(try await Shell.run("fusermount3", ["-u", "-z", mounts.path("bob")]).succeeded)
        #expect(try await mounts.daemon("bob").ending() == .code(0))
        #expect(throws: SystemError.self) { try open.read(count: 10, at: 250_000) }
        try await mounts.mount("bob")
        #expect(try mounts.read("bob/alice/known.bin") == TwoMounts.bytes(300_000))
    }

    @Test("an open writer may finish and is sent")
    func writer() async throws {
        let mounts = try await TwoMounts.start()
        var draft: OpenFile? = try mounts.create("alice/bob/slow.txt")
        try draft?.write(Array("first ".utf8), at: 0)
        #expect(try await Shell.run("fusermount3", ["-u", "-z", mounts.path("alice")]).succeeded)
        try draft?.write(Array("second".utf8), at: 6)
        draft = nil
        #expect(try await mounts.daemon("alice").ending() == .code(0))
        try await mounts.mount("alice")
        try await mounts.waitForFile("bob/alice/slow.txt")
        #expect(try mounts.read("bob/alice/slow.txt") == Array("first second".utf8))
    }
}

/// A shell in its own mount namespace, with copies of all mounts.
private final class OtherNamespace {
    private let shell: RunningProcess
    private var number = 0

    private init(_ shell: RunningProcess) { self.shell = shell }

    static func start() async throws -> OtherNamespace {
        var settings = ChildProcess.Settings(
            try Shell.find("unshare"), ["--mount", "--propagation", "private", "sh"])
        settings.input = .pipe
        let other = OtherNamespace(try await RunningProcess.start(settings))
        _ = try await other.run("echo ready")
        return other
    }

    /// Returns the line that `command` prints.
    func run(_ command: String) async throws -> String {
        number += 1
        let mark = "\(number):"
        try shell.child.input?.send(Array("printf '%s' '\(mark)'; \(command)\n".utf8))
        let line = try await shell.line("an answer to \(mark)") { $0.hasPrefix(mark) }
        return String(line.dropFirst(mark.count))
    }

    /// Waits for a line of the background job.
    func expect(_ line: String) async throws { try await shell.line(line) { $0 == line } }

    /// Number of readable bytes of a file, or `failed`.
    func count(_ path: String) async throws -> String {
        try await run("cat '\(path)' >/dev/null 2>&1 && wc -c <'\(path)' || echo failed")
    }

    func end() async throws {
        shell.send(SIGKILL)
        try await shell.ending()
    }
}
