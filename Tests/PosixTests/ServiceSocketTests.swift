import TestSupport
import Testing

@testable import Posix

@Suite("A service tells its manager")
struct ServiceSocketTests {
    private let folder: TemporaryFolder
    private let manager: DatagramListener

    init() throws {
        folder = try TemporaryFolder()
        manager = try DatagramListener(path: folder.path("n"))
    }

    @Test func stepsAreDatagramsOfAssignments() throws {
        let socket = try #require(ServiceSocket(path: manager.path))
        socket.ready("mounted")
        #expect(manager.next() == "READY=1\nSTATUS=mounted\n")
        socket.show("one\ntwo")
        #expect(manager.next() == "STATUS=one two\n")
        socket.alive()
        #expect(manager.next() == "WATCHDOG=1\n")
        socket.stopping("leaving")
        #expect(manager.next() == "STOPPING=1\nSTATUS=leaving\n")
    }

    @Test func heartbeatIsHalfOfTheLimit() {
        #expect(ServiceSocket(path: manager.path)?.heartbeat == nil)
        #expect(ServiceSocket(path: manager.path, limit: "60000000")?.heartbeat == .seconds(30))
        #expect(ServiceSocket(path: manager.path, limit: "60000000", process: "1")?.heartbeat == nil)
        for limit in ["", "-1", "0", "soon"] {
            #expect(ServiceSocket(path: manager.path, limit: limit)?.heartbeat == nil)
        }
    }

    @Test(arguments: [
        "", "n", "/nowhere/n", "@chatfs-no-such-name", "/" + String(repeating: "n", count: 200),
    ])
    func socketThatIsNotThereIsNone(_ path: String) {
        #expect(ServiceSocket(path: path) == nil)
    }

    /// A manager that hangs must not stop the mount.
    @Test func fullSocketLosesLines() throws {
        let socket = try #require(ServiceSocket(path: manager.path))
        for _ in 0..<5000 { socket.alive() }
        #expect(manager.next() == "WATCHDOG=1\n")
    }
}
