import Glibc
import Posix
import TestSupport
import Testing

/// With dunst if installed: its output is the shown text.
@Suite("Notifications of a real daemon", .serialized)
struct RealDesktopTests {
    @Test(
        "the daemon shows arrivals and refusals",
        .enabled(if: RealDaemon.isInstalled, "dunst and xvfb are not installed"))
    func dunst() async throws {
        let desktop = try await NotificationDesktop.start(nil)
        let daemon = try await RealDaemon.start(on: desktop)
        let mounts = try await TwoMounts.start(mounting: ["bob"])
        try await mounts.mount(
            "alice", ["--quiet-time", "3s", "--folders", "refuse"], environment: daemon.environment)
        try mounts.write([1], to: "bob/alice/<i>hello & you.txt")
        try await daemon.waitFor("bob sent a file")
        try await daemon.waitFor("hello &")
        #expect(mkdir(mounts.path("alice/bob/folder"), 0o700) == -1)
        try await daemon.waitFor("A folder cannot be sent")
        for name in ["alice", "bob"] { #expect(try await mounts.leave(name) == .code(0)) }
    }
}
