import Glibc
import Posix
import TestSupport
import Testing

@Suite("A file on two relays", .serialized)
struct TwoReplicasTests {
    @Test("the second relay completes the read")
    func stopped() async throws {
        let mounts = try await TwoMounts.start(mounting: ["alice"], encrypted: false)
        let bytes = TwoMounts.bytes(30_000_000)
        try mounts.write(bytes, to: "alice/bob/film.bin")
        try await mounts.waitForState("sent", of: "alice/bob/film.bin")
        // The second relay has the same data at another address.
        let copied = try await Shell.run("cp", ["-a", mounts.path("relay"), mounts.path("second relay")])
        #expect(copied.succeeded, "\(copied.errors)")
        let second = try await ChatFSProcess.start(["relay", "--dir", mounts.path("second relay")])
        let address = try await second.line("its address") { $0.hasPrefix("xftp://") }
        #expect(address != mounts.relayAddress)
        try await Self.addReplicas(on: address, to: "film.bin", mounts)
        try await mounts.mount("bob", ["--relay", address])
        try await mounts.waitForFile("bob/alice/film.bin")

        let file = try OpenFile(mounts.path("bob/alice/film.bin"), flags: O_RDONLY)
        #expect(try file.read(count: 1000, at: 0) == Array(bytes[..<1000]))
        // Its connections stay open, with chunks in transfer.
        mounts.relay.send(SIGSTOP)
        defer { mounts.relay.send(SIGCONT) }
        // It waits for seconds, so not on a thread that other tests share.
        let rest = try await ThreadPool.shared.run { () throws(SystemError) in
            try file.read(count: bytes.count, at: 1000)
        }
        #expect(rest == Array(bytes[1000...]))
        try await mounts.waitForState("stored", of: "bob/alice/film.bin")
        #expect(try await mounts.leave("bob") == .code(0))
        try await second.terminate()
    }

    /// Adds a second relay for every chunk to bob's description.
    private static func addReplicas(on relay: String, to name: String, _ mounts: TwoMounts) async throws {
        let script = """
            import re, sqlite3, sys
            database, name, relay = sys.argv[1:]
            connection = sqlite3.connect(database, timeout=30)
            where = " WHERE name = ? AND profile = 2"
            text = connection.execute("SELECT description FROM file" + where, [name]).fetchone()[0]
            chunks = re.findall(r"(?m)^  - (\\d+:[^:]+:[^:\\n]+).*$", text)
            assert len(chunks) > 5, text
            more = "- chunks:\\n" + "".join(f"  - {chunk}\\n" for chunk in chunks) + f"  server: {relay}\\n"
            text = re.sub("(?m)^size:", lambda found: more + "size:", text)
            connection.execute("UPDATE file SET description = ?" + where, [text, name])
            connection.commit()
            """
        let outcome = try await Shell.run("python3", ["-c", script, mounts.data + "/chatfs.db", name, relay])
        guard outcome.succeeded else { throw WaitedInVain("adding a relay: \(outcome.errors)") }
    }
}
