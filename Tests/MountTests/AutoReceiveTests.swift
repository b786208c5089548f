import Base
import Posix
import TestSupport
import Testing

@Suite("Small media on arrival", .serialized)
struct AutoReceiveTests {
    /// A recording of seven seconds, too large for a message.
    private static let recording: [UInt8] = {
        func box(_ type: String, _ content: [UInt8]) -> [UInt8] {
            var bytes: [UInt8] = []
            bytes.append(bigEndian: UInt32(content.count + 8))
            return bytes + Array(type.utf8) + content
        }
        var header = [UInt8](repeating: 0, count: 12)
        header.append(bigEndian: 1 as UInt32)
        header.append(bigEndian: 7 as UInt32)
        header += [UInt8](repeating: 0, count: 80)
        return box("ftyp", Array("M4A 0000".utf8)) + box("moov", box("mvhd", header))
            + box("mdat", TwoMounts.bytes(300_000))
    }()

    private func send(_ name: String, as form: String, _ mounts: TwoMounts) async throws -> Shell.Outcome {
        let file = try mounts.folder.write(Self.recording, to: name)
        return try await ChatFSProcess.run([
            "send", file, "bob", "--as", form, "--profile", "alice", "--data", mounts.data,
        ])
    }

    @Test("voice arrives by itself unless turned off")
    func voice() async throws {
        let mounts = try await TwoMounts.start()
        #expect(try await send("memo.bin", as: "voice", mounts).succeeded)
        // An unknown extension is followed by the one of its kind.
        try await mounts.waitForFile("bob/alice/memo.bin.m4a")
        try await mounts.waitForState("stored", of: "bob/alice/memo.bin.m4a")
        let log = String(decoding: try mounts.read("bob/.chatfs/messages/alice.jsonl"), as: UTF8.self)
        #expect(log.contains("\"type\":\"voice\""), "\(log)")
        let off = ["keep", "set", "--chat", "alice", "--auto-receive", "no", "--profile", "bob"]
        #expect(try await mounts.run(off).output.contains("--auto-receive no"))
        #expect(try await send("later.bin", as: "voice", mounts).succeeded)
        try await mounts.waitForFile("bob/alice/later.bin.m4a")
        // Also after a remount.
        #expect(try await mounts.leave("bob") == .code(0))
        try await mounts.mount("bob")
        try await mounts.waitForFile("bob/alice/later.bin.m4a")
        #expect(try await send("last.bin", as: "file", mounts).succeeded)
        try await mounts.waitForFile("bob/alice/last.bin")
        #expect(try mounts.state("bob/alice/later.bin.m4a") == "remote")
        #expect(try mounts.read("bob/alice/later.bin.m4a") == Self.recording)
    }

    @Test("content of another form is not sent")
    func unfit() async throws {
        let mounts = try await TwoMounts.start(mounting: ["alice"])
        let picture = try await send("memo.bin", as: "image", mounts)
        #expect(
            picture.ending == .code(1) && picture.errors.contains("JPEG, PNG, GIF, WebP"), "\(picture.errors)"
        )
        let unknown = try await send("memo.bin", as: "song", mounts)
        #expect(unknown.ending == .code(64), "\(unknown.errors)")
        // Begins like a picture and continues with noise.
        let broken = try mounts.folder.write([0xFF, 0xD8, 0xFF, 0xE0] + TwoMounts.bytes(5000), to: "broken")
        let damaged = try await ChatFSProcess.run([
            "send", broken, "bob", "--as", "image", "--profile", "alice", "--data", mounts.data,
        ])
        #expect(
            damaged.ending == .code(1) && damaged.errors.contains("send it as a file"), "\(damaged.errors)")
        #expect(try mounts.folder.names(in: "alice/bob").isEmpty)
        #expect(
            try mounts.folder.names(in: "data/profiles/1/staging").filter { $0.hasPrefix("send-") }.isEmpty)
    }
}
