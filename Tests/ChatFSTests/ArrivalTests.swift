import CommandLineKit
import Desktop
import Glibc
import Posix
import TestSupport
import Testing

@testable import chatfs

@Suite("The program of 'chatfs events --exec'", .timeLimit(.minutes(2)))
struct ArrivalTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func arrivals(_ script: String, grace: Duration = .seconds(60)) throws -> EventsCommand.Arrivals {
        let path = try folder.write(Array("#!/bin/sh\ncd '\(folder.path)'\n\(script)\n".utf8), to: "program")
        chmod(path, 0o700)
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

    @Test("finds in its environment what arrived, and no shell in between")
    func environment() async throws {
        let arrivals = try arrivals("env | grep ^CHATFS_ | sort >found")
        await arrivals.handle(event(), until: StopRequest())
        let lines = (said("found") ?? "").split(separator: "\n").filter { !$0.hasPrefix("CHATFS_LOG") }
        #expect(lines.contains("CHATFS_PATH=/mnt/Chats/Bob/it's $(here).txt"))
        #expect(lines.contains("CHATFS_NAME=it's $(here).txt") && lines.contains("CHATFS_CHAT=Bob"))
        #expect(lines.contains("CHATFS_SENDER=Bob") && lines.contains("CHATFS_SIZE=7"))
        #expect(lines.contains("CHATFS_TYPE=text/plain"))
    }

    @Test("is run for nothing but what arrives")
    func others() async throws {
        let arrivals = try arrivals("echo ran >>ran")
        for kind in ProgramEvent.Kind.allCases where kind != .itemAppeared {
            await arrivals.handle(event(kind), until: StopRequest())
        }
        await arrivals.handle(event(direction: "sent"), until: StopRequest())
        await arrivals.handle(ProgramEvent(.itemAppeared), until: StopRequest())
        #expect(said("ran") == nil)
        await arrivals.handle(event(), until: StopRequest())
        #expect(said("ran") == "ran\n")
    }

    @Test("one that fails, is killed or is not there holds up nothing")
    func failing() async throws {
        for script in ["exit 3", "kill -9 $$"] {
            await (try arrivals(script)).handle(event(), until: StopRequest())
        }
        let none = EventsCommand.Arrivals(program: folder.path("none"), mountpoint: "/mnt")
        await none.handle(event(), until: StopRequest())
    }

    @Test(
        "is told the signal that ends the command, and is waited for", arguments: [SIGTERM, SIGINT, SIGHUP])
    func stopped(signal: Int32) async throws {
        let name = [SIGTERM: "TERM", SIGINT: "INT", SIGHUP: "HUP"][signal] ?? "TERM"
        let arrivals = try arrivals(
            "trap 'echo told >told; exit 0' \(name); echo >began; while :; do sleep 0.01; done")
        let stop = StopRequest()
        let handling = Task { [event = event()] in await arrivals.handle(event, until: stop) }
        try await wait(until: "it runs") { said("began") != nil }
        stop.request(signal: signal)
        await handling.value
        #expect(said("told") == "told\n")
    }

    @Test("one that goes on is left to its end, which comes with that of the command")
    func stubborn() async throws {
        let arrivals = try arrivals(
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
