import Base
import Glibc
import Posix
import TestSupport
import Testing

@Suite("Read state of messages with files", .serialized)
struct MarkingReadMountTests {
    private static let bytes = SystemRandomSource().bytes(50_000)
    private static let read = "/_read chat items @1 1"

    private func stage(_ options: [String] = []) async throws -> (ScriptedMount, path: String) {
        let stage = try await ScriptedMount.start()
        let message = stage.offer(
            1, size: Self.bytes.count, description: try await stage.upload(Self.bytes))
        try await stage.mount(options)
        try await stage.waitUntilShown(message)
        return (stage, stage.path(of: message))
    }

    @Test("an open marks a message as read")
    func opened() async throws {
        let (stage, path) = try await stage()
        let looked = try await Shell.script("ls -l '\(stage.folder.path)/Chats/bob'; stat '\(path)'")
        #expect(looked.succeeded)
        #expect(stage.simplex.count("/_read") == 0)
        for _ in 0..<3 {
            #expect(try await Shell.run("cmp", [path, stage.folder.path("source.bin")]).succeeded)
        }
        try await wait(until: "it is read") { stage.simplex.count(Self.read) == 1 }
        try await stage.leave()
        try await stage.mount()
        #expect(try await Shell.run("cat", [path]).succeeded)
        try await stage.leave()
        #expect(stage.simplex.count("/_read") == 1)
    }

    @Test("--mark-read never leaves messages unread")
    func never() async throws {
        let (stage, path) = try await stage(["--mark-read", "never"])
        #expect(try await Shell.run("cat", [path]).succeeded)
        try await stage.leave()
        #expect(stage.simplex.count("/_read") == 0)
    }
}
