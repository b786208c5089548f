import Glibc
import Posix
import TestSupport
import Testing

/// The connection between kernel and daemon ends during a copy; the half-written file is not sent.
@Suite("Lost kernel connections", .serialized)
struct LostConnectionTests {
    @Test(
        "an abort recovers the open draft unsent",
        .enabled(if: FuseControl.isReachable, "only root can mount fusectl"))
    func aborted() async throws {
        try await endInTheMiddle { try await FuseControl.abort($0) }
    }

    @Test(
        "umount -f recovers the open draft unsent",
        .enabled(if: geteuid() == 0, "only root can force an unmount"))
    func forced() async throws {
        try await endInTheMiddle { mountpoint in
            // Reports busy but ends the connection.
            _ = try await Shell.run("umount", ["-f", mountpoint])
        }
    }

    @Test(
        "umount -f -l recovers the open draft unsent",
        .enabled(if: geteuid() == 0, "only root can force an unmount"))
    func forcedAway() async throws {
        try await endInTheMiddle { mountpoint in
            _ = try await Shell.run("umount", ["-f", "-l", mountpoint])
        }
    }

    private func endInTheMiddle(_ end: (String) async throws -> Void) async throws {
        let mounts = try await CopyStage.start()
        let bob = try await mounts.mount("bob")
        let alice = try await mounts.mount("alice", quietTime: "100ms")
        let bytes = sample(4_000_000)
        try mounts.prepare("half.bin", bytes)
        try mounts.prepare("whole.bin", sample(300_000, seed: 2))
        let writer = try await RunningProcess.start(
            SlowWriter.settings(mounts, "half.bin", stopsAfter: 500_000))
        try await writer.line("that it has written a part") { $0 == "500000" }
        // Released files are complete.
        #expect(try await mounts.copy("cp \"$SOURCE/whole.bin\" \"$FOLDER/\"").succeeded)
        try await end(mounts.folder.path("a"))
        #expect(try await alice.ending() == .code(0))
        writer.send(SIGKILL)
        try await writer.ending()

        let again = try await mounts.mount("alice", quietTime: "100ms")
        try await mounts.waitForArrival(of: ["whole.bin"])
        try await mounts.waitUntilQuiet()
        #expect(try mounts.arrived().filter { !$0.hasPrefix("zz") } == ["whole.bin"])
        #expect(try mounts.folder.names(in: "a/.chatfs/recovered") == ["half.bin"])
        #expect(try mounts.folder.read("a/.chatfs/recovered/half.bin") == Array(bytes[..<500_000]))
        #expect(try await again.terminate() == .code(0))
        try await bob.terminate()
    }
}

/// A program that copies in pieces and stops in the middle, with the file open, until its input ends.
enum SlowWriter {
    static func settings(
        _ mounts: CopyStage, _ name: String, stopsAfter count: Int
    ) throws -> ChildProcess.Settings {
        var settings = ChildProcess.Settings(
            try Shell.find("python3"),
            [
                "-c",
                """
                import signal, sys
                # As cp ends: Python would close its files first.
                signal.signal(signal.SIGINT, signal.SIG_DFL)
                source, target, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
                with open(source, 'rb') as bytes, open(target, 'wb', buffering=0) as copy:
                    while copy.tell() < count:
                        copy.write(bytes.read(min(100000, count - copy.tell())))
                    print(copy.tell(), flush=True)
                    sys.stdin.read()
                """,
                mounts.source + "/" + name, mounts.toBob + "/" + name, "\(count)",
            ])
        settings.input = .pipe
        return settings
    }
}

/// `/sys/fs/fuse/connections`: a directory for each connection, with a file that aborts it.
enum FuseControl {
    private static let folder = "/sys/fs/fuse/connections"

    /// Root mounts it if necessary.
    static var isReachable: Bool { geteuid() == 0 || isMounted }

    private static var isMounted: Bool {
        (try? MountTable.mounts())?.contains { $0.path == folder && $0.type == "fusectl" } == true
    }

    /// The kernel's number of the connection behind a mount.
    static func number(of path: String) throws -> UInt64 {
        var status = stat()
        try check("look at the mount") { stat(path, &status) }
        // minor(3) is a macro.
        return UInt64(status.st_dev & 0xFF | status.st_dev >> 12 & 0xFFFF_FF00)
    }

    /// Aborts the connection behind a mount, as its owner may.
    static func abort(_ path: String) async throws { try await abort(number(of: path)) }

    /// Aborts without accessing the mount.
    static func abort(_ number: UInt64) async throws {
        let write = "echo 1 >\(folder)/\(number)/abort"
        let outcome =
            if isMounted {
                try await Shell.script(write)
            } else {
                // In a mount namespace of its own, so that nothing remains.
                try await Shell.run(
                    "unshare", ["--mount", "sh", "-c", "mount -t fusectl none \(folder) && \(write)"])
            }
        guard outcome.succeeded else { throw WaitedInVain("abort: \(outcome.errors)") }
    }
}
