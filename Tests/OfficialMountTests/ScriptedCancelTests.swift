import Base
import Glibc
import Posix
import TestSupport
import Testing

@Suite("'chatfs cancel' on an official core", .serialized)
struct ScriptedCancelTests {
    @Test("a read restarts a cancelled reception")
    func received() async throws {
        let stage = try await ScriptedMount.start()
        let bytes = SystemRandomSource().bytes(3_000_000)
        let message = stage.offer(1, size: bytes.count, description: try await stage.upload(bytes))
        try await stage.mount()
        try await stage.waitUntilShown(message)
        let path = stage.path(of: message)
        let home = ["HOME": stage.folder.path]
        stage.relay.send(SIGSTOP)
        let pinned = try await ChatFSProcess.run(["pin", path], environment: home)
        #expect(pinned.succeeded, "\(pinned.errors)")
        try await wait(until: "the core receives it") {
            let state = try ExtendedAttribute.text("user.chatfs.state", of: path)
            return stage.simplex.count("/freceive ") == 1 && state == "receiving"
        }
        let cancelled = try await ChatFSProcess.run(["cancel", path], environment: home)
        #expect(cancelled.succeeded, "\(cancelled.errors)")
        #expect(stage.simplex.count("/fcancel \(message.fileID)") == 1)
        try await wait(until: "it is offered as before") {
            try ExtendedAttribute.text("user.chatfs.state", of: path) == "remote"
        }
        stage.relay.send(SIGCONT)
        let read = try await Shell.run("cmp", [path, stage.folder.path("source.bin")])
        #expect(read.succeeded, "\(read.output)\(read.errors)")
        #expect(stage.simplex.count("/freceive ") == 2)
        try await stage.leave()
    }
}
