import Glibc
import Posix
import TestSupport
import Testing

@Suite("Connecting over the network", .serialized)
struct PairingTests {
    @Test("a link connects two machines for sending")
    func pairing() async throws {
        let machines = try await TwoMachines()
        let (pair, link) = try await machines.pair("alice", ["--profile", "alice"] + machines.servers)
        let accepted = try await ChatFSProcess.run(
            ["accept", link, "--profile", "bob"] + machines.data("bob") + machines.servers)
        #expect(accepted.output == "alice is connected.\n", "\(accepted.errors)")
        #expect(try await pair.ending() == .code(0))
        #expect(pair.output.hasSuffix("bob is connected.\n"))

        let mounts = [try await machines.mount("alice"), try await machines.mount("bob")]
        for (from, to, bytes) in [("alice", "bob", 7), ("bob", "alice", 700_000)] {
            let source = machines.folder.path("from \(from)")
            let made = try await Shell.run("head", ["-c", "\(bytes)", "/dev/urandom"])
            #expect(made.succeeded)
            _ = try await Shell.script(
                #"head -c "$COUNT" /dev/urandom >"$FILE" && cp "$FILE" "$CHAT""#,
                environment: [
                    "COUNT": "\(bytes)", "FILE": source, "CHAT": machines.chats(from) + "/\(to)/",
                ])
            let arrived = machines.chats(to) + "/\(from)/from \(from)"
            try await wait(until: "the file of \(from) is there") { access(arrived, F_OK) == 0 }
            try await wait(until: "its bytes can be read") {
                try await Shell.run("cmp", [source, arrived]).succeeded
            }
        }
        // The daemon has the profile and carries out the command.
        let (second, other) = try await machines.pair("alice")
        let carol = try await ChatFSProcess.run(
            ["accept", other, "--profile", "carol"] + machines.data("carol") + machines.servers)
        #expect(carol.output == "alice is connected.\n", "\(carol.errors)")
        #expect(carol.errors.contains("chatfs mount ~/Chats"))
        #expect(try await second.ending() == .code(0))
        #expect(
            second.errors.contains("Exchange files in \(machines.chats("alice"))/carol."), "\(second.errors)")
        try await wait(until: "carol has a folder") { access(machines.chats("alice") + "/carol", F_OK) == 0 }
        for mount in mounts { #expect(try await mount.terminate() == .code(0)) }
        #expect(try await machines.relay.terminate() == .code(0))
    }

    @Test(
        "an abandoned wait keeps the link usable"
    )
    func interrupted() async throws {
        let machines = try await TwoMachines()
        let (pair, link) = try await machines.pair("alice", ["--profile", "alice"] + machines.servers)
        pair.send(SIGINT)
        #expect(try await pair.ending() == .code(130))
        #expect(pair.errors.contains("the link stays usable"))
        let accept = try await ChatFSProcess.start(
            ["accept", link, "--profile", "bob"] + machines.data("bob") + machines.servers)
        let mount = try await machines.mount("alice")
        #expect(try await accept.ending() == .code(0))
        try await wait(until: "bob has a folder") { access(machines.chats("alice") + "/bob", F_OK) == 0 }
        #expect(try await mount.terminate() == .code(0))
    }

    @Test("address requests are accepted with and without mount")
    func address() async throws {
        let machines = try await TwoMachines()
        let alice = machines.data("alice")
        let made = try await ChatFSProcess.run(
            ["address", "create", "--profile", "alice"] + alice + machines.servers)
        let link = String(made.output.dropLast())
        #expect(made.succeeded && link.hasPrefix("https://"), "\(made.errors)")
        #expect(try await ChatFSProcess.run(["address", "show"] + alice).output == made.output)

        var mount: RunningProcess?
        for (number, name) in ["bob", "carol"].enumerated() {
            let data = ["--data", machines.folder.path("\(name) data")]
            let asking = try await ChatFSProcess.start(
                ["accept", link, "--profile", name] + data + machines.servers)
            var line = ""
            try await wait(until: "\(name) is listed") {
                line = try await ChatFSProcess.run(["requests"] + alice).output
                return line.hasSuffix("  \(name)\n")
            }
            #expect(line.hasPrefix("\(number + 1)  "))
            let accepted = try await ChatFSProcess.run(["accept", "\(number + 1)"] + alice)
            #expect(accepted.output == "\(name) is connected.\n", "\(accepted.errors)")
            #expect(try await asking.ending() == .code(0))
            #expect(asking.errors.contains("must be accepted"))
            if mount == nil { mount = try await machines.mount("alice") }
        }
        try await wait(until: "carol has a folder") { access(machines.chats("alice") + "/carol", F_OK) == 0 }

        for arguments in [["accept", "7"], ["reject", "7"]] {
            let refused = try await ChatFSProcess.run(arguments + alice)
            #expect(refused.errors.contains("No request 7."))
        }
        #expect(try await ChatFSProcess.run(["address", "delete"] + alice).succeeded)
        let gone = try await ChatFSProcess.run(["address", "show"] + alice)
        #expect(gone.errors.contains("has no address"))
        #expect(try await mount?.terminate() == .code(0))
        #expect(try await machines.relay.terminate() == .code(0))
    }

    @Test("impossible requests are refused without a link")
    func refusals() async throws {
        let machines = try await TwoMachines()
        let alice = machines.data("alice")
        for (arguments, sentence) in [
            (["pair"] + alice, "name with --profile"),
            (["pair", "--profile", "alice"] + alice, "No messaging server"),
            (["pair", "--server", "xftp://x"] + alice, "looks like smp://"),
            (["accept", "https://example.org/"] + alice + machines.servers, "no SimpleX link"),
        ] {
            let outcome = try await ChatFSProcess.run(arguments)
            #expect(!outcome.succeeded && outcome.errors.contains(sentence), "\(outcome.errors)")
            #expect(outcome.output.isEmpty)
        }
        #expect(try await machines.relay.terminate() == .code(0))
        let away = try await ChatFSProcess.run(["pair"] + alice)
        #expect(away.ending == .code(1) && away.output.isEmpty, "\(away.errors)")
    }
}
