import Glibc
import Posix
import TestSupport
import Testing

@Suite("The command chatfs demo", .serialized)
struct DemoTests {
    @Test("the demo sends, receives and leaves nothing")
    func wholePath() async throws {
        let stage = try await DemoStage.start()
        // Bob received a text, a small picture within its message, and a placeholder of a sound.
        #expect(try stage.read("bob/alice/hello.txt").starts(with: Array("Hello Bob!".utf8)))
        #expect(try stage.read("alice/Saved notes/shopping.txt") == Array("tea\nbread\nlamp oil\n".utf8))
        #expect(try stage.state("bob/alice/waves.wav") == "remote")
        let size = try OpenFile(stage.path("bob/alice/waves.wav"), flags: O_RDONLY).size()
        #expect(size == 44 + 45 * 44_100 * 2)
        // Reading receives.
        let picture = try await Shell.run("file", ["--brief", stage.path("bob/alice/sunset.png")])
        #expect(picture.output.hasPrefix("PNG image data, 480 x 320"))
        let sounds = try await Shell.run(
            "sha256sum", [stage.path("bob/alice/waves.wav"), stage.path("alice/bob/waves.wav")])
        #expect(Set(sounds.output.split(separator: "\n").map { $0.prefix(64) }).count == 1)
        // Copying a file in sends it to the contact and to the group.
        let own = try TemporaryFolder()
        try own.write([UInt8]("The train leaves at ten past seven.\n".utf8), to: "plan.txt")
        for (from, to) in [("bob/alice", "alice/bob"), ("alice/Book club", "bob/Book club")] {
            let copy = try await Shell.run("cp", [own.path("plan.txt"), stage.path(from) + "/"])
            #expect(copy.succeeded, "\(copy.errors)")
            try await wait(until: "the copy has arrived") { access(stage.path(to + "/plan.txt"), F_OK) == 0 }
            let compare = try await Shell.run("cmp", [own.path("plan.txt"), stage.path(to + "/plan.txt")])
            #expect(compare.succeeded, "\(compare.output)\(compare.errors)")
        }
        try await stage.process.line("the news") { $0.contains("alice/bob/plan.txt  new") }
        let children = try stage.children()
        #expect(children.count == 3)
        stage.process.send(SIGINT)
        #expect(try await stage.process.ending() == .code(0))
        #expect(stage.process.errors == "")
        try await DemoStage.expectNothingLeft(of: stage.path, children: children)
        #expect(try stage.folder.names() == [])
    }

    @Test("stop signals work even if initially ignored")
    func signals() async throws {
        for (signal, ignored, blocked) in [
            (SIGTERM, [], []), (SIGINT, [SIGINT], []), (SIGTERM, [], [SIGTERM]),
        ] {
            let stage = try await DemoStage.start(ignoredSignals: ignored, blockedSignals: blocked)
            let children = try stage.children()
            stage.process.sendToGroup(signal)
            #expect(try await stage.process.ending() == .code(0))
            try await DemoStage.expectNothingLeft(of: stage.path, children: children)
        }
    }

    @Test("stopping during the setup leaves nothing")
    func early() async throws {
        for milliseconds in [0, 100, 300, 700] {
            let folder = try TemporaryFolder()
            let process = try await ChatFSProcess.start(["demo", folder.path("demo")])
            try await process.line("that it starts") { $0.hasPrefix("Starting") }
            // At different times of the setup.
            try await Task.sleep(for: .milliseconds(milliseconds))
            process.send(SIGTERM)
            #expect(try await process.ending() == .code(0), "\(process.errors)")
            #expect(try folder.names() == [])
        }
    }

    @Test("a killed demo is cleaned up")
    func killed() async throws {
        let stage = try await DemoStage.start()
        let children = try stage.children()
        #expect(children.count == 3)
        stage.process.send(SIGKILL)
        #expect(try await stage.process.ending() == .signal(SIGKILL))
        try await wait(until: "the children are gone") {
            children.allSatisfy { kill($0, 0) == -1 && errno == ESRCH }
        }
        #expect(try MountTable.mounts(below: stage.path).isEmpty)
        let next = try await DemoStage.start(in: stage.folder)
        #expect(try next.read("bob/alice/hello.txt").count > 10)
        #expect(try await next.process.terminate() == .code(0))
        #expect(try stage.folder.names() == [])
    }
}
