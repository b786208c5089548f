import Glibc
import Posix
import TestSupport
import Testing

@Suite("Confinement of the daemon")
struct ConfinedDaemonTests {
    @Test("only the child starter may trace or mount")
    func threads() async throws {
        let stage = try await CopyStage.start()
        let mount = try await stage.mount("alice")
        try stage.prepare("a", [1, 2, 3])
        #expect(try await stage.copy("cp \"$SOURCE/a\" \"$FOLDER/\"").succeeded)
        let tasks = "/proc/\(mount.processIdentifier)/task"
        var confined = 0
        for task in try PrivateFolder.names(in: OpenFile(tasks, flags: O_RDONLY | O_DIRECTORY)) {
            let bytes = try OpenFile("\(tasks)/\(task)/status", flags: O_RDONLY).read(count: 8192, at: 0)
            let status = String(decoding: bytes, as: UTF8.self)
            let starts = status.hasPrefix("Name:\tchild-start")
            #expect(status.contains("Seccomp:\t\(starts ? 0 : 2)\n"), "\(status.prefix(30))")
            #expect(status.contains("NoNewPrivs:\t\(starts ? 0 : 1)\n"), "\(status.prefix(30))")
            if !starts { confined += 1 }
        }
        #expect(confined > 10)
        #expect(try await mount.terminate() == .code(0))
    }
}
