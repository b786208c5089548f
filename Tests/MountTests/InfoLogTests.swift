import Glibc
import Posix
import TestSupport
import Testing

@Suite("The log at level info", .serialized)
struct InfoLogTests {
    /// True for an event and its facts, of which the last may contain spaces: `file sent: chat=@4 bytes=7`.
    private static func isEvent(_ line: Substring) -> Bool {
        line.wholeMatch(of: #/chatfs [a-z]+: [a-z ]+(?:: (?:[a-z-]+=\S+ )*[a-z-]+=.+)?/#) != nil
    }

    @Test("tells a day of a mount in twenty lines")
    func day() async throws {
        let machines = try await TwoMachines()
        let (pair, link) = try await machines.pair("alice", ["--profile", "alice"] + machines.servers)
        let accepted = try await ChatFSProcess.run(
            ["accept", link, "--profile", "bob"] + machines.data("bob") + machines.servers)
        #expect(accepted.succeeded, "\(accepted.errors)")
        #expect(try await pair.ending() == .code(0))
        let alice = try await machines.mount("alice")
        let bob = try await machines.mount("bob", environment: ["CHATFS_LOG": "info"])

        // Bob lists the chat, receives a file and sends one.
        let (sent, got) = (
            machines.chats("alice") + "/bob/film.bin", machines.chats("bob") + "/alice/film.bin"
        )
        let bytes = TwoMounts.bytes(700_000)
        try OpenFile(sent, flags: O_WRONLY | O_CREAT).write(bytes, at: 0)
        #expect(try await Shell.run("ls", [machines.chats("bob") + "/alice"]).succeeded)
        try await wait(until: "the file is there") { access(got, F_OK) == 0 }
        #expect(try await Shell.run("cmp", [sent, got]).succeeded)
        try await wait(until: "it is stored") {
            try ExtendedAttribute.text("user.chatfs.state", of: got) == "stored"
        }
        let answer = machines.chats("bob") + "/alice/answer.txt"
        try OpenFile(answer, flags: O_WRONLY | O_CREAT).write(Array("a word".utf8), at: 0)
        try await wait(until: "the answer is sent") { bob.errors.contains("file sent: ") }
        #expect(try await bob.terminate() == .code(0))
        #expect(try await alice.terminate() == .code(0))

        let lines = bob.errors.split(separator: "\n")
        #expect(lines.count <= 20, "\(bob.errors)")
        for line in lines { #expect(Self.isEvent(line), "\(line)") }
        let events = [
            "mount: mounted: profile=", "smp: server connected: server=", "filesystem: chat opened: chat=@",
            "mount: file received: chat=@", "mount: file sent: chat=@", "mount: unmounted: seconds=",
        ]
        for event in events {
            #expect(lines.contains { $0.hasPrefix("chatfs " + event) }, "\(event): \(bob.errors)")
        }
        #expect(lines.first?.contains("mounted: ") == true || lines.first?.contains("connected: ") == true)
        #expect(lines.last?.contains(" received=1 sent=1 ") == true, "\(lines.last ?? "")")
        for name in ["film", "answer", "alice"] {
            #expect(!lines.contains { $0.contains(name) && !$0.contains("mountpoint=") }, "\(name)")
        }
    }

    @Test("an eviction is one line")
    func evicting() async throws {
        let mounts = try await TwoMounts.start(mounting: ["alice"])
        try mounts.write(TwoMounts.bytes(9_000_000), to: "alice/bob/film.bin")
        try await mounts.waitForState("sent", of: "alice/bob/film.bin")
        let bob = try await mounts.mount("bob", ["--no-finish"], environment: ["CHATFS_LOG": "info"])
        try await mounts.waitForFile("bob/alice/film.bin")
        do {
            let file = try OpenFile(mounts.path("bob/alice/film.bin"), flags: O_RDONLY)
            _ = try file.read(count: 4096, at: 0)
        }
        try await wait(until: "it is evicted") {
            _ = try await ChatFSProcess.run(["cache", "clear", mounts.path("bob")])
            return bob.errors.contains("hydration: file evicted: file=")
        }
        #expect(try await mounts.leave("bob") == .code(0))
        let lines = bob.errors.split(separator: "\n")
        #expect(lines.count { $0.contains("file evicted: ") } == 1, "\(bob.errors)")
        for line in lines { #expect(Self.isEvent(line), "\(line)") }
    }
}
