import Glibc
import Posix
import TestSupport
import Testing

@Suite("The chatfs-bench program", .serialized)
struct BenchProgramTests {
    private let folder: TemporaryFolder
    private let work: String

    init() throws {
        folder = try TemporaryFolder()
        work = try folder.makeFolder("work")
    }

    private func start(_ arguments: [String]) async throws -> RunningProcess {
        let program = ChatFSProcess.path + "-bench"
        var settings = ChildProcess.Settings(
            program, ["--quick", "--repetitions", "1", "--dir", "work"] + arguments)
        settings.folder = folder.path
        settings.environment = ["OFFICIAL_BIN": nil]
        return try await RunningProcess.start(settings)
    }

    private func expectNothingLeft() throws {
        #expect(try folder.names(in: "work").isEmpty)
        #expect(try MountTable.mounts(below: work).isEmpty)
    }

    @Test("small files are compared with C passthrough")
    func measures() async throws {
        let marks = ["<!-- figures of chatfs-bench -->", "<!-- end of the figures -->"]
        let page = try folder.write(Array("before\n\(marks[0])\(marks[1])\nafter\n".utf8), to: "page.md")
        let bench = try await start([
            "--only", "official", "--only", "small", "--json", folder.path("figures.json"), "--svg",
            folder.path("figures.svg"), "--page", page,
        ])
        #expect(try await bench.ending(within: .seconds(120)) == .code(0), "\(bench.errors)")
        let line = try #require(bench.lines.first { $0.contains("C passthrough: ") }, "\(bench.output)")
        #expect(
            line.hasPrefix("| open, read and close a hydrated file of 4 KiB |") && line.contains(" ≤ 1.2 × "))
        #expect(bench.output.contains("* official: OFFICIAL_BIN names no folder"))
        let json = String(decoding: try folder.read("figures.json"), as: UTF8.self)
        #expect(json.contains("\"measure\" : \"small-open\""))
        #expect(String(decoding: try folder.read("figures.svg"), as: UTF8.self).hasSuffix("</svg>\n"))
        let text = String(decoding: try folder.read("page.md"), as: UTF8.self)
        #expect(text.hasPrefix("before\n") && text.hasSuffix("\nafter\n") && text.contains(line))
        try expectNothingLeft()
    }

    @Test("a long history is written, listed and extended")
    func history() async throws {
        let figures = folder.path("history.json")
        let bench = try await start(["--only", "history", "--json", figures])
        #expect(try await bench.ending(within: .seconds(120)) == .code(0), "\(bench.errors)")
        for title in ["second start", "memory"] {
            #expect(bench.output.contains("| \(title) with 1000 files in 20 chats"), "\(bench.output)")
        }
        let json = String(decoding: try folder.read("history.json"), as: UTF8.self)
        #expect(json.contains("\"measure\" : \"history-start\""))
        try expectNothingLeft()
    }

    @Test("Ctrl-C removes mounts, processes and files")
    func interrupted() async throws {
        let figures = folder.path("figures.json")
        let bench = try await start(["--only", "list", "--json", figures])
        try await wait(until: "something is mounted", within: .seconds(60)) {
            try !MountTable.mounts(below: work).isEmpty
        }
        bench.send(SIGINT)
        #expect(try await bench.ending(within: .seconds(60)) == .code(1))
        #expect(bench.output.contains("* list: The run was stopped."))
        #expect(access(figures, F_OK) != 0)
        try expectNothingLeft()
    }

    @Test("a page without markers is refused first")
    func page() async throws {
        let page = try folder.write(Array("nothing".utf8), to: "page.md")
        let bench = try await start(["--page", page])
        #expect(try await bench.ending() == .code(1))
        #expect(bench.errors.contains("no place for figures") && !bench.errors.contains("measuring"))
    }
}
