import Base
import Cryptography
import Glibc
import Posix
import ScriptedCore
import TestSupport
import Testing

@Suite("Chunks that are fetched beside a core, and the user's address", .serialized)
struct MountedProxyTests {
    private static let bytes = SystemRandomSource().bytes(9_000_000)
    private static let piece = 5_000_000..<5_100_000

    @Test("through a SOCKS proxy they come from a relay that nothing else reaches, by its name")
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
        // The core was told to receive it too.
        #expect(stage.simplex.count("/freceive ") == 1)
    }

    @Test("with a proxy that is dead a read fails and says so; the relay is not asked without it")
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

    @Test("a core that hides the address, and no proxy here: only the core fetches, else this process does")
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
