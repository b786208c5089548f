import CommandLineKit
import Desktop
import Glibc
import Posix
import TestSupport
import Testing

@testable import chatfs

@Suite("The program of chatfs events --exec", .timeLimit(.minutes(10)))
struct ArrivalTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func arrivals(_ script: String, grace: Duration = .seconds(60)) async throws
        -> EventsCommand.Arrivals
    {
        let path = folder.path("program")
        // Written by another process, because a child forked here by another test might hold it open for writing.
        let text = "#!/bin/sh\ncd '\(folder.path)'\n\(script)\n"
        let written = try await Shell.run(
            "sh", ["-c", #"printf %s "$1" >"$2" && chmod 700 "$2""#, "sh", text, path])
        try #require(written.succeeded, "\(written.errors)")
        var arrivals = EventsCommand.Arrivals(program: path, mountpoint: "/mnt/Chats")
        arrivals.grace = grace
        return arrivals
    }

    private func event(_ kind: ProgramEvent.Kind = .itemAppeared, direction: String? = "received")
        -> ProgramEvent
    {
        var item = ProgramItem(
            number: 1024, path: "Bob/it's $(here).txt", name: "it's $(here).txt", chat: "@1", size: 7,
            modified: 0, state: "remote", progress: 0)
        (item.direction, item.sender, item.type) = (direction, "Bob", "text/plain")
        return ProgramEvent(kind, item: item)
    }

    private func said(_ name: String) -> String? {
        (try? folder.read(name)).map { String(decoding: $0, as: UTF8.self) }
    }

    @Test("the environment describes the arrival")
    func environment() async throws {
        let arrivals = try await arrivals("env | grep ^CHATFS_ | sort >found")
        await arrivals.handle(event(), until: StopRequest())
        let lines = (said("found") ?? "").split(separator: "\n").filter { !$0.hasPrefix("CHATFS_LOG") }
        #expect(lines.contains("CHATFS_PATH=/mnt/Chats/Bob/it's $(here).txt"))
        #expect(lines.contains("CHATFS_NAME=it's $(here).txt") && lines.contains("CHATFS_CHAT=Bob"))
        #expect(lines.contains("CHATFS_SENDER=Bob") && lines.contains("CHATFS_SIZE=7"))
        #expect(lines.contains("CHATFS_TYPE=text/plain"))
    }

    @Test("only arrivals run the program")
    func others() async throws {
        let arrivals = try await arrivals("echo ran >>ran")
        for kind in ProgramEvent.Kind.allCases where kind != .itemAppeared {
            await arrivals.handle(event(kind), until: StopRequest())
        }
        await arrivals.handle(event(direction: "sent"), until: StopRequest())
        await arrivals.handle(ProgramEvent(.itemAppeared), until: StopRequest())
        #expect(said("ran") == nil)
        await arrivals.handle(event(), until: StopRequest())
        #expect(said("ran") == "ran\n")
    }

    @Test("failing programs do not stop the command")
    func failing() async throws {
        for script in ["exit 3", "kill -9 $$"] {
            try await (arrivals(script)).handle(event(), until: StopRequest())
        }
        let none = EventsCommand.Arrivals(program: folder.path("none"), mountpoint: "/mnt")
        await none.handle(event(), until: StopRequest())
    }

    @Test(
        "the stop signal reaches the program",
        // With a terminal, the program got the typed signal already.
        arguments: isatty(STDIN_FILENO) == 1 ? [SIGTERM, SIGHUP] : [SIGTERM, SIGINT, SIGHUP])
    func stopped(signal: Int32) async throws {
        let name = [SIGTERM: "TERM", SIGINT: "INT", SIGHUP: "HUP"][signal] ?? "TERM"
        let arrivals = try await arrivals(
            "trap 'echo told >told; exit 0' \(name); echo >began; while :; do sleep 0.01; done")
        let stop = StopRequest()
        let handling = Task { [event = event()] in await arrivals.handle(event, until: stop) }
        try await wait(until: "it runs") { said("began") != nil }
        stop.request(signal: signal)
        await handling.value
        #expect(said("told") == "told\n")
    }

    @Test("a running program delays the end")
    func stubborn() async throws {
        let arrivals = try await arrivals(
            "trap '' TERM; echo $$ >began; while :; do sleep 0.01; done", grace: .milliseconds(50))
        let stop = StopRequest()
        let handling = Task { [event = event()] in await arrivals.handle(event, until: stop) }
        let process = try await wait(for: "its number") {
            said("began").flatMap { pid_t($0.split(separator: "\n").first ?? "") }
        }
        stop.request(signal: SIGTERM)
        await handling.value
        try await wait(until: "it is gone") { kill(process, 0) != 0 }
    }
}
