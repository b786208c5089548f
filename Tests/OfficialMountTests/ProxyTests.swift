import Base
import Cryptography
import Glibc
import Posix
import ScriptedCore
import TestSupport
import Testing

@Suite("SOCKS proxy for direct chunk downloads", .serialized)
struct MountedProxyTests {
    private static let bytes = SystemRandomSource().bytes(9_000_000)
    private static let piece = 5_000_000..<5_100_000

    @Test("a proxy resolves and reaches a hidden relay")
    func proxied() async throws {
        let stage = try await ScriptedMount.start()
        let proxy = try SOCKSServer(hosts: ["relay.invalid": "127.0.0.1"])
        let text = try await stage.upload(Self.bytes)
        let hidden = text.replacing("@127.0.0.1:", with: "@relay.invalid:")
        #expect(hidden != text)
        let message = stage.offer(1, size: Self.bytes.count, description: hidden)
        stage.simplex.change { $0.hidesAddress = true }
        try await stage.mount(["--socks-proxy", "127.0.0.1:\(proxy.port)"])
        let reader = try await stage.reader(of: message)
        #expect(try await reader.read(Self.piece) == ScriptedMount.digest(Self.bytes[Self.piece]))
        #expect(try await reader.read(0..<Self.bytes.count) == ScriptedMount.digest(Self.bytes[...]))
        #expect(Set(proxy.targets) == ["relay.invalid:\(stage.relayPort)"])
        // The core also receives the file.
        #expect(stage.simplex.count("/freceive ") == 1)
    }

    @Test("a dead proxy fails the read")
    func dead() async throws {
        let stage = try await ScriptedMount.start()
        let text = try await stage.upload(Self.bytes)
        let message = stage.offer(1, size: Self.bytes.count, description: text)
        stage.relay.send(SIGKILL)
        try await stage.relay.ending()
        let there = try LoopbackListener(port: stage.relayPort)
        let proxy = try SOCKSServer()
        proxy.stop()
        try await stage.mount(["--socks-proxy", "127.0.0.1:\(proxy.port)"])
        let reader = try await stage.reader(of: message)
        #expect(try await reader.read(Self.piece) == "EHOSTUNREACH")
        #expect(try stage.error(of: message)?.isEmpty == false)
        #expect(there.count == 0)
    }

    @Test("a core's proxy setting prevents direct downloads")
    func hidden() async throws {
        for hides in [true, false] {
            let stage = try await ScriptedMount.start()
            let text = try await stage.upload(Self.bytes)
            let message = stage.offer(1, size: Self.bytes.count, description: text)
            stage.relay.send(SIGKILL)
            try await stage.relay.ending()
            let there = try LoopbackListener(port: stage.relayPort)
            let (simplex, folder) = (stage.simplex, stage.folder)
            simplex.change { $0.hidesAddress = hides }
            if hides {
                simplex.whenReceiving { message in
                    guard (try? folder.write(Self.bytes, to: "files/received.bin")) != nil else { return }
                    simplex.complete(message.id, path: "received.bin", cryptoArguments: nil)
                }
            }
            try await stage.mount()
            let reader = try await stage.reader(of: message)
            let answer = try await reader.read(Self.piece)
            #expect(answer == (hides ? ScriptedMount.digest(Self.bytes[Self.piece]) : "EHOSTUNREACH"))
            #expect((there.count == 0) == hides)
        }
    }
}
