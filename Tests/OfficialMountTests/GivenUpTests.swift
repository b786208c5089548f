import Base
import Cryptography
import Glibc
import ScriptedCore
import TestSupport
import Testing

@Suite("Files given up during a read", .serialized)
struct GivenUpTests {
    private static let bytes = SystemRandomSource().bytes(9_000_000)
    private static let whole = ScriptedMount.digest(bytes[...])

    @Test(
        "the reader gets every byte")
    func kept() async throws {
        let stage = try await ScriptedMount.start()
        let message = stage.offer(
            1, size: Self.bytes.count, description: try await stage.upload(Self.bytes))
        try await stage.mount()
        let reader = try await stage.reader(of: message)
        let piece = 100_000..<200_000
        #expect(try await reader.read(piece) == ScriptedMount.digest(Self.bytes[piece]))
        #expect(stage.simplex.count("/freceive ") == 1)
        stage.giveUp(message)
        #expect(try await reader.readAtLast(0..<Self.bytes.count) == Self.whole)
        try await stage.waitForCopy(of: message)
        #expect(stage.simplex.count("/freceive ") == 1)
        try await stage.leave()
        stage.relay.send(SIGKILL)
        try await stage.relay.ending()
        try await stage.mount()
        #expect(try await stage.reader(of: message).readAtLast(0..<Self.bytes.count) == Self.whole)
        #expect(try stage.error(of: message) == nil)
        // The copy is removed with its message.
        stage.simplex.tellGone(message.id)
        try await wait(until: "the copy is gone") { access(stage.copy(of: message), F_OK) != 0 }
        try await stage.leave()
    }

    @Test("'chatfs hydrate' keeps a given-up file")
    func hydrated() async throws {
        let stage = try await ScriptedMount.start()
        let message = stage.offer(
            1, size: Self.bytes.count, description: try await stage.upload(Self.bytes))
        try await stage.mount()
        try await stage.waitUntilShown(message)
        stage.giveUp(message)
        try await wait(until: "it failed") { try stage.error(of: message) != nil }
        let outcome = try await ChatFSProcess.run(
            ["hydrate", stage.path(of: message)], environment: ["HOME": stage.folder.path])
        #expect(outcome.succeeded, "\(outcome.errors)")
        try await stage.waitForCopy(of: message)
        #expect(try await stage.reader(of: message).read(0..<Self.bytes.count) == Self.whole)
        try await stage.leave()
    }
}
