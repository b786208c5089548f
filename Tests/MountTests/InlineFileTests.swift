import ChatProtocol
import Glibc
import InlineSending
import Posix
import SMP
import TestSupport
import Testing

/// Alice's mount, Eve, whose program sends small files within messages, and a relay for both.
private struct InlineMount {
    let folder: TemporaryFolder
    let relay: RunningRelay
    let eve: InlineSender

    init(in folder: TemporaryFolder) async throws {
        self.folder = folder
        relay = try await RunningRelay.start(in: folder)
        _ = try folder.makeFolder("Chats")
        eve = try await InlineSender(named: "eve", at: #require(ServerAddress(relay.messages)))
        let pair = try await ChatFSProcess.start(
            ["pair", "--profile", "alice", "--server", relay.messages, "--relay", relay.files] + data)
        try await eve.join(pair.line("a link") { $0.hasPrefix("https://") })
        #expect(try await pair.ending() == .code(0), "\(pair.errors)")
    }

    var data: [String] { ["--data", folder.path("data")] }

    func path(_ name: String) -> String { folder.path("Chats/eve/" + name) }

    func mount() async throws -> RunningProcess {
        let process = try await ChatFSProcess.start(
            ["mount", folder.path("Chats"), "--cache-dir", folder.path("cache")] + data)
        try await wait(until: "the mount is there") {
            access(folder.path("Chats/.chatfs/status.json"), F_OK) == 0
        }
        return process
    }

    func attribute(_ attribute: String, of name: String) async throws -> String {
        try await Shell.run("getfattr", ["--only-values", "-n", "user.chatfs.\(attribute)", path(name)])
            .output
    }

    /// Waits until the entry of a file appears.
    func appears(_ name: String) async throws {
        try await wait(until: "\(name) is there") { access(path(name), F_OK) == 0 }
    }

    /// Reads a file to its end in another process.
    func read(_ name: String) async throws -> RunningProcess {
        try await RunningProcess.start(ChildProcess.Settings(try Shell.find("cat"), [path(name)]))
    }

    static func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 7) }
    }
}

@Suite("Small files sent within messages", .serialized)
struct InlineFileTests {
    @Test(
        "reading a placeholder receives and shows progress"
    )
    func reading() async throws {
        let stage = try await InlineMount(in: TemporaryFolder())
        let mount = try await stage.mount()
        stage.eve.hold()
        let file = try await stage.eve.offer(InlineMount.bytes(236_700), named: "old.pdf")
        try await stage.appears("old.pdf")
        var status = stat()
        #expect(stat(stage.path("old.pdf"), &status) == 0)
        #expect(status.st_size == 236_700 && status.st_blocks == 1)
        #expect(try await stage.attribute("state", of: "old.pdf") == "remote")
        #expect(try await stage.attribute("transport", of: "old.pdf") == "smp")
        #expect(stage.eve.asked.isEmpty)

        let readers = [try await stage.read("old.pdf"), try await stage.read("old.pdf")]
        try await wait(until: "it is asked for") { stage.eve.asked == [file.id] }
        for chunk in file.chunks.prefix(6) { try await stage.eve.send(chunk) }
        try await wait(until: "40 % are here") {
            try await stage.attribute("progress", of: "old.pdf") == "40"
        }
        #expect(try await stage.attribute("state", of: "old.pdf") == "receiving")
        for chunk in file.chunks.dropFirst(6) { try await stage.eve.send(chunk) }
        for reader in readers {
            #expect(try await reader.ending() == .code(0), "\(reader.errors)")
            #expect(reader.outputBytes == file.bytes)
        }
        let voice = try await stage.eve.send(InlineMount.bytes(50_000), named: "voice.m4a")
        try await stage.appears("voice.m4a")
        try await wait(until: "it is stored") {
            try await stage.attribute("state", of: "voice.m4a") == "stored"
        }
        #expect(try stage.folder.read("Chats/eve/voice.m4a") == voice.bytes)
        #expect(stage.eve.asked.count == 1)
        #expect(try await mount.terminate() == .code(0))
        await stage.eve.stop()
        #expect(try await stage.relay.terminate() == .code(0))
    }

    @Test("the next mount resumes after a kill")
    func killed() async throws {
        let stage = try await InlineMount(in: TemporaryFolder())
        let first = try await stage.mount()
        stage.eve.hold()
        let file = try await stage.eve.offer(InlineMount.bytes(100_000), named: "old.pdf")
        try await stage.appears("old.pdf")
        let reader = try await stage.read("old.pdf")
        try await wait(until: "it is asked for") { stage.eve.asked == [file.id] }
        for chunk in file.chunks.prefix(3) { try await stage.eve.send(chunk) }
        try await wait(until: "47 % are here") {
            try await stage.attribute("progress", of: "old.pdf") == "47"
        }
        first.send(SIGKILL)
        #expect(try await reader.ending() != .code(0))
        for chunk in file.chunks.dropFirst(3) { try await stage.eve.send(chunk) }
        let second = try await stage.mount()
        let again = try await stage.read("old.pdf")
        #expect(try await again.ending() == .code(0), "\(again.errors)")
        #expect(again.outputBytes == file.bytes)
        #expect(stage.eve.asked == [file.id])
        #expect(try await second.terminate() == .code(0))
        await stage.eve.stop()
        #expect(try await stage.relay.terminate() == .code(0))
    }

    @Test("a full disk loses nothing of it")
    func fullDisk() async throws {
        let folder = try TemporaryFolder()
        let disk = try await SmallDisk(at: try folder.makeFolder("data"), size: "12m")
        let stage = try await InlineMount(in: folder)
        let mount = try await stage.mount()
        stage.eve.hold()
        let file = try await stage.eve.offer(InlineMount.bytes(236_700), named: "old.pdf")
        try await stage.appears("old.pdf")
        let reader = try await stage.read("old.pdf")
        try await wait(until: "it is asked for") { stage.eve.asked == [file.id] }
        for chunk in file.chunks.prefix(3) { try await stage.eve.send(chunk) }
        try await wait(until: "20 % are here") {
            try await stage.attribute("progress", of: "old.pdf") == "20"
        }
        reader.send(SIGKILL)
        _ = try await reader.ending()
        try await disk.fill(for: [mount.processIdentifier])
        for chunk in file.chunks.dropFirst(3) { try await stage.eve.send(chunk) }
        // The server redelivers unacknowledged messages.
        try await Task.sleep(for: .seconds(3))
        #expect(kill(mount.processIdentifier, 0) == 0)
        try await disk.free()
        // Two places retry after at most a minute each.
        try await wait(until: "all of it has come", within: .seconds(300)) {
            let state = try await stage.attribute("state", of: "old.pdf")
            return ["stored", "hydrated"].contains(state)
        }
        let again = try await stage.read("old.pdf")
        #expect(try await again.ending() == .code(0), "\(again.errors)")
        #expect(again.outputBytes == file.bytes)
        #expect(try await mount.terminate() == .code(0))
        await stage.eve.stop()
        #expect(try await stage.relay.terminate() == .code(0))
    }
}
