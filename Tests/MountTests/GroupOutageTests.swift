import Glibc
import GroupHosting
import Posix
import SMP
import TestSupport
import Testing

/// Three machines in one group, each with its own data directory and mount, a common relay, and the host of the group.
private struct GroupStage {
    let names = ["alice", "bob", "carol"]
    let folder: TemporaryFolder
    let files: String
    let messages: String
    let host: GroupHost

    init(_ relay: RunningProcess, in folder: TemporaryFolder) async throws {
        self.folder = folder
        files = try await relay.line("its address for files") { $0.hasPrefix("xftp://") }
        messages = try await relay.line("its address for messages") { $0.hasPrefix("smp://") }
        host = try await GroupHost(at: #require(ServerAddress(messages)))
        for name in names { _ = try folder.makeFolder("\(name) Chats") }
    }

    func data(_ name: String) -> [String] { ["--data", folder.path("\(name) data")] }

    func path(_ name: String) -> String { folder.path("\(name) Chats") }

    func log(_ name: String) throws -> String {
        try String(
            decoding: folder.read("\(name) Chats/.chatfs/messages/club.jsonl"), as: UTF8.self)
    }

    func mount(_ name: String) async throws -> RunningProcess {
        let process = try await ChatFSProcess.start(
            ["mount", path(name), "--cache-dir", folder.path("\(name) cache")] + data(name))
        try await wait(until: "\(name)'s mount is there") {
            access(path(name) + "/.chatfs/status.json", F_OK) == 0
        }
        return process
    }

    /// Joins through the mount, or by a process before the first mount.
    func join(_ name: String) async throws {
        let pair = try await ChatFSProcess.start(
            ["pair", "--profile", name, "--server", messages, "--relay", files] + data(name))
        try await host.invite(name, over: pair.line("a link") { $0.hasPrefix("https://") })
        #expect(try await pair.ending() == .code(0), "\(pair.errors)")
        try await wait(until: "the invitation is listed") {
            try await ChatFSProcess.run(["requests"] + data(name)).output.contains("into the group club")
        }
        let accepted = try await ChatFSProcess.run(["accept", "1"] + data(name))
        #expect(accepted.output == "Joined the group club.\n", "\(accepted.errors)")
    }
}

@Suite("A group with an unreachable relay", .serialized)
struct GroupOutageTests {
    private func startRelay(_ folder: TemporaryFolder) async throws -> RunningProcess {
        try await ChatFSProcess.start(["relay", "--dir", folder.path("relay")])
    }

    @Test("messages of new members arrive once")
    func outage() async throws {
        let folder = try TemporaryFolder()
        var relay = try await startRelay(folder)
        let stage = try await GroupStage(relay, in: folder)
        for name in stage.names { try await stage.join(name) }
        var mounts: [RunningProcess] = []
        for name in stage.names { mounts.append(try await stage.mount(name)) }
        for name in stage.names {
            try await wait(until: "\(name) has the folder") { access(stage.path(name) + "/club", F_OK) == 0 }
        }
        // During the outage of the introductions, links can be neither created nor used.
        try await stage.host.introduce("alice")
        try await stage.host.introduce("bob")
        relay.send(SIGKILL)
        try await relay.ending()
        try await stage.host.introduce("carol")
        for name in stage.names {
            let sent = try await ChatFSProcess.run(
                ["send", "--text", "text of \(name)", "club"] + stage.data(name))
            #expect(sent.succeeded, "\(sent.errors)")
            _ = try await Shell.script(
                #"head -c 300000 /dev/urandom >"$FILE" && cp "$FILE" "$CHAT""#,
                environment: ["FILE": folder.path("of \(name)"), "CHAT": stage.path(name) + "/club/"])
        }
        relay = try await startRelay(folder)
        try await wait(until: "each pair is connected", within: .seconds(120)) { stage.host.isMesh }
        for name in stage.names {
            for other in stage.names where other != name {
                let file = stage.path(name) + "/club/of \(other)"
                try await wait(until: "\(name) reads the file of \(other)", within: .seconds(120)) {
                    try await Shell.run("cmp", [folder.path("of \(other)"), file]).succeeded
                }
                let log = try await wait(for: "\(name) reads the text of \(other)") {
                    let log = try stage.log(name)
                    return log.contains("text of \(other)") ? log : nil
                }
                #expect(log.components(separatedBy: "text of \(other)\"").count == 2)
            }
        }
        // Without the host too.
        await stage.host.stop()
        let last = try await ChatFSProcess.run(["send", "--text", "the last", "club"] + stage.data("alice"))
        #expect(last.succeeded, "\(last.errors)")
        for name in ["bob", "carol"] {
            try await wait(until: "\(name) reads the last text") { try stage.log(name).contains("the last") }
        }
        for mount in mounts { #expect(try await mount.terminate() == .code(0)) }
        #expect(try await relay.terminate() == .code(0))
    }

    @Test("introductions continue after kills")
    func kills() async throws {
        let folder = try TemporaryFolder()
        let relay = try await startRelay(folder)
        let stage = try await GroupStage(relay, in: folder)
        for name in stage.names { try await stage.join(name) }
        var mounts: [String: RunningProcess] = [:]
        for name in stage.names { mounts[name] = try await stage.mount(name) }
        for name in stage.names { try await stage.host.introduce(name) }
        for round in 0..<6 {
            let name = stage.names[round % 3]
            let sent = try await ChatFSProcess.run(
                ["send", "--text", "\(round) of \(name)", "club"] + stage.data(name))
            #expect(sent.succeeded, "\(sent.errors)")
            // At any point.
            mounts[name]?.send(SIGKILL)
            try await mounts[name]?.ending()
            Unmounting.detach(stage.path(name))
            mounts[name] = try await stage.mount(name)
        }
        try await wait(until: "each pair is connected", within: .seconds(120)) { stage.host.isMesh }
        for name in stage.names {
            for round in 0..<6 where stage.names[round % 3] != name {
                let text = "\"\(round) of \(stage.names[round % 3])\""
                try await wait(until: "\(name) reads \(text)", within: .seconds(120)) {
                    (try? stage.log(name).contains(text)) == true
                }
                #expect(try stage.log(name).components(separatedBy: text).count == 2)
            }
        }
        for name in stage.names { #expect(try await mounts[name]?.terminate() == .code(0)) }
        await stage.host.stop()
        #expect(try await relay.terminate() == .code(0))
    }
}
