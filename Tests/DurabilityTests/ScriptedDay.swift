import Base
import Glibc
import Posix
import TestSupport

/// The recorded day of alice and bob: everything that creates, moves or removes data that must not be lost. The content
/// of a file follows from its name without the extension, because temporary names have another one.
enum ScriptedDay {
    static func size(of name: String) -> Int {
        // Files above 261,120 bytes go through the relay.
        name.hasPrefix("large") ? 300_000 : 3_000
    }

    static func content(of name: String) -> [UInt8] {
        let key = "\(size(of: name)) \(stem(of: name))"
        return contents.withLock { contents in
            if let known = contents[key] { return known }
            let seed = stem(of: name).utf8.reduce(7) { $0 &* 31 &+ Int($1) }
            let made = sampleBytes(size(of: name), seed: seed)
            contents[key] = made
            return made
        }
    }

    /// Created once: each state of the disk is compared with all of them.
    private static let contents = Lock<[String: [UInt8]]>([:])

    static func stem(of name: String) -> String { String(name.prefix { $0 != "." }) }

    /// Performs the day, and records promises that were seen to hold.
    static func record(in folder: TemporaryFolder, with recorder: String) async throws -> DayTrace {
        let stage = try await RecordedStage.start(in: folder, recorder: recorder)
        var alice = try await stage.mount("alice", quietTime: "50ms")
        let bob = try await stage.mount("bob", quietTime: "50ms")

        try await stage.send("small 1.txt")
        try await stage.send("large 1.bin")
        try await stage.copyIn("note.txt", to: "alice/Saved notes")
        // There is no recipient.
        try await stage.waitForState("stored", of: "alice/Saved notes/note.txt")
        try stage.promise(.sent, "note.txt")

        // Read completely, so received for good.
        try await stage.waitForFile("bob/alice/large 1.bin")
        guard try stage.read("bob/alice/large 1.bin") == content(of: "large 1.bin") else {
            throw WaitedInVain("other bytes arrived")
        }
        try stage.promise(.received, "large 1.bin")
        try await evict(in: stage)

        // Synchronised by its writer, then given its final name.
        try await stage.writeDurably("synced.part", content(of: "synced.bin"))
        try stage.promise(.durable, "synced.bin")
        try stage.rename("alice/bob/synced.part", "alice/bob/synced.bin")
        try await stage.waitForState("sent", of: "alice/bob/synced.bin")
        try stage.promise(.sent, "synced.bin")
        try await stage.end(alice, by: SIGTERM)

        // A long quiet time: drafts are removed, replaced, and closed before the mount ends.
        alice = try await stage.mount("alice", quietTime: "1h")
        try await stage.copyIn("gone.txt", to: "alice/bob")
        try await stage.copyIn("kept.txt", to: "alice/bob")
        try stage.promise(.open, "gone.txt")
        try stage.remove("alice/bob/gone.txt")
        try stage.promise(.never, "gone.txt")
        try await stage.copyIn("replaced.part", to: "alice/bob")
        try stage.rename("alice/bob/replaced.part", "alice/bob/replaced.txt")
        // Synchronised, then replaced by unsynchronised content.
        try await stage.writeDurably("again.txt", content(of: "again.txt"))
        try stage.promise(.durable, "again.txt")
        try await stage.copyIn("again.part", to: "alice/bob")
        try stage.rename("alice/bob/again.part", "alice/bob/again.txt")
        try await stage.end(alice, by: SIGTERM)
        try stage.promise(.sent, "kept.txt")

        // Killed after a file was adopted and while another one is half written.
        alice = try await stage.mount("alice", quietTime: "50ms")
        try await stage.copyIn("killed.txt", to: "alice/bob")
        try await stage.waitUntilTaken("alice/bob/killed.txt")
        try stage.promise(.sent, "killed.txt")
        let writer = try OpenFile(stage.path("alice/bob/half.bin"), flags: O_WRONLY | O_CREAT)
        try writer.write(Array(content(of: "half.bin").prefix(1000)), at: 0)
        try await stage.end(alice, by: SIGKILL)
        withExtendedLifetime(writer) {}
        alice = try await stage.mount("alice", quietTime: "50ms")
        try await stage.waitForState("sent", of: "alice/bob/killed.txt")

        // Files that wait for their relay are revoked.
        try await stage.stopRelay()
        try await stage.copyIn("large 2.bin", to: "alice/bob")
        try await stage.waitUntilTaken("alice/bob/large 2.bin")
        try stage.promise(.sent, "large 2.bin")
        try stage.promise(.open, "large 2.bin")
        try stage.remove("alice/bob/large 2.bin")
        try stage.promise(.never, "large 2.bin")
        try await stage.send("small 2.txt")
        try await stage.end(alice, by: SIGTERM)
        try await stage.end(bob, by: SIGTERM)
        return try stage.trace()
    }

    /// Evicts bob's files from the cache and then from the disk; they come back each time.
    private static func evict(in stage: RecordedStage) async throws {
        let (name, path) = ("large 1.bin", "bob/alice/large 1.bin")
        try await stage.chatfs("dehydrate", stage.path(path))
        try stage.promise(.stored, name)
        try await stage.chatfs("pin", stage.path(path))
        guard try stage.read(path) == content(of: name) else { throw WaitedInVain("other bytes are kept") }
        try await stage.chatfs("unpin", stage.path(path))
        try await stage.chatfs("dehydrate", stage.path(path))
        // Its relay still has it.
        try stage.promise(.open, name)
        try await stage.chatfs("storage", "free", "--profile", "bob", "--data", stage.path("data"))
        try await stage.waitForState("remote", of: path)
        try stage.promise(.received, name)
        guard try stage.read(path) == content(of: name) else { throw WaitedInVain("other bytes came again") }
        try await stage.chatfs("dehydrate", stage.path(path))
        try stage.promise(.stored, name)
    }
}

/// Returns pseudo-random bytes, equal for equal seeds.
func sampleBytes(_ count: Int, seed: Int) -> [UInt8] {
    var generator = SeededGenerator(state: UInt64(truncatingIfNeeded: seed))
    return (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
}
