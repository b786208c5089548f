import Glibc
import Posix
import TestSupport
import Testing

@testable import XFTP

/// Runs `chatfs file` with the built program, a relay and files.
@Suite(.serialized) struct FileCommandTests {
    private static func run(_ folder: TemporaryFolder, _ arguments: String...) async throws -> Shell.Outcome {
        try await run(folder, arguments)
    }

    private static func run(_ folder: TemporaryFolder, _ arguments: [String]) async throws -> Shell.Outcome {
        try await ChatFSProcess.run(["file"] + arguments, folder: folder.path)
    }

    @Test func fileIsSentReceivedInspectedAndDeleted() async throws {
        let relay = try LocalRelay()
        let folder = try TemporaryFolder()
        let bytes = someBytes(5_500_000)
        try folder.write(bytes, to: "film über.mp4")
        let address = relay.address.text
        let sent = try await Self.run(
            folder, "send", "film über.mp4", "--relay", address, "--recipients", "3", "--out", "out")
        #expect(sent.succeeded, "\(sent.errors)")
        #expect(
            try folder.names(in: "out") == [
                "link.xftp.private", "rcv1.xftp", "rcv2.xftp", "rcv3.xftp", "snd.xftp.private",
            ])
        let link = sent.output.trimmingNewline
        #expect(link.hasPrefix("simplex:/file#/?desc="))
        #expect(link.split(separator: "\n").count == 1, "nothing but the link on standard output")
        #expect(!sent.errors.contains("Sending:"), "no progress in a pipe")
        #expect(!sent.errors.contains("\r"))

        let received = try await Self.run(folder, "receive", "out/rcv1.xftp", "--out", "copy.mp4")
        #expect(received.succeeded, "\(received.errors)")
        #expect(received.output == "copy.mp4\n")
        #expect(try folder.read("copy.mp4") == bytes)
        // A folder gets the sender's name, a second file another name. The description stays.
        _ = try folder.makeFolder("in")
        for name in ["film über.mp4", "film über (2).mp4"] {
            let again = try await Self.run(
                folder, "receive", "out/rcv1.xftp", "--out", "in")
            #expect(again.output == "in/\(name)\n")
            #expect(try folder.read("in/\(name)") == bytes)
        }
        #expect(try folder.names(in: "in").count == 2)
        let byLink = try await Self.run(folder, "receive", link, "--out", "linked", "--acknowledge")
        #expect(byLink.succeeded, "\(byLink.errors)")
        #expect(try folder.read("linked") == bytes)
        let acknowledged = try await Self.run(folder, "receive", link, "--out", "linked2")
        #expect(!acknowledged.succeeded)
        #expect(acknowledged.errors.contains("expired or deleted"))

        let info = try await Self.run(folder, "info", "out/rcv2.xftp")
        #expect(info.output.contains("Chunks: 3\n"))
        #expect(info.output.contains("Relay: \(address) (3 chunks)\n"))
        #expect(!info.output.contains("MC4CAQ"), "no key on the screen")
        let deleted = try await Self.run(folder, "delete", "out/snd.xftp.private")
        #expect(deleted.output == "Deleted 4 chunks.\n", "and the redirect's chunk")
        #expect(relay.relay.storedBytes == 0)
        let gone = try await Self.run(folder, "receive", "out/rcv2.xftp", "--out", "late")
        #expect(gone.ending == .code(1))
        #expect(!(try folder.names().contains("late")))
        #expect(
            !(try folder.names().contains { $0.hasSuffix(".part") }),
            "no rest of a file that can never be had")
    }

    /// How the port of a relay answers says whether it is open.
    @Test func relaysBehindRedirectsNeedApprovalInOwnNetwork() async throws {
        let relay = try LocalRelay()
        let folder = try TemporaryFolder()
        try folder.write([1, 2, 3], to: "a")
        let send = ["--relay", relay.address.text, "--out"]
        #expect(try await Self.run(folder, ["send", "a"] + send + ["target"]).succeeded)
        let target = String(decoding: try folder.read("target/rcv1.xftp"), as: UTF8.self)
            .replacing("@127.0.0.1", with: "@localhost")
        try folder.write(Array(target.utf8), to: "target.xftp")
        #expect(try await Self.run(folder, ["send", "target.xftp"] + send + ["link"]).succeeded)
        var link = try FileDescription(
            parsing: String(decoding: try folder.read("link/rcv1.xftp"), as: UTF8.self))
        let described = try FileDescription(parsing: target)
        link.redirect = .init(size: described.size, digest: described.digest)
        try folder.write(Array(link.text.utf8), to: "link.xftp")
        let receive = ["receive", "link.xftp", "--out", "b"]
        let refused = try await Self.run(folder, receive)
        #expect(refused.ending == .code(1))
        #expect(
            refused.errors.contains("Approve it only if you know it:  --approve xftp://"),
            "\(refused.errors)")
        #expect(!(try folder.names().contains("b")))
        let address = relay.address.text.replacing("@127.0.0.1", with: "@localhost")
        let received = try await Self.run(folder, receive + ["--approve", address])
        #expect(received.succeeded, "\(received.errors)")
        #expect(try folder.read("b") == [1, 2, 3])
    }

    @Test func descriptionsComeFromStandardInput() async throws {
        let relay = try LocalRelay()
        let folder = try TemporaryFolder()
        try folder.write([1, 2, 3], to: "a")
        _ = try await Self.run(folder, "send", "a", "--relay", relay.address.text)
        #expect(
            try folder.names(in: "a.xftp") == ["rcv1.xftp", "snd.xftp.private"], "FILE.xftp when not told")
        let received = try await Shell.script(
            "\(ChatFSProcess.path) file receive - --out b < a.xftp/rcv1.xftp",
            folder: folder.path)
        #expect(received.succeeded, "\(received.errors)")
        #expect(try folder.read("b") == [1, 2, 3])
    }

    @Test func invalidCommandsFailWithOneLine() async throws {
        let folder = try TemporaryFolder()
        try folder.write([1], to: "a")
        try folder.write(Array("party: nobody\n".utf8), to: "bad.xftp")
        let fingerprint = "LcJUMfVhwD8yxjAiSaDzzGF3-kLG4Uh0Fl_ZIjrRwjI="
        let cases: [(arguments: [String], code: Int32)] = [
            (["send", "a"], 64), (["send", "a", "--relay", "xftp://no:secretword@where"], 64),
            (["send", "missing", "--relay", "xftp://\(fingerprint)@127.0.0.1:1"], 1),
            (["send", ".", "--relay", "xftp://\(fingerprint)@127.0.0.1:1"], 1),
            (["send", "a", "--relay", "xftp://\(fingerprint)@127.0.0.1:1", "--recipients", "0"], 64),
            (["receive", "missing.xftp"], 1), (["receive", "bad.xftp"], 1),
            (["receive", "simplex:/file#/?x=y"], 1), (["receive", "bad.xftp", "--approve", "127.0.0.1"], 1),
            (["receive", "bad.xftp", "--out", "a"], 1), (["info", "bad.xftp"], 1),
            (["delete", "bad.xftp"], 1),
        ]
        for (arguments, code) in cases {
            let outcome = try await ChatFSProcess.run(["file"] + arguments, folder: folder.path)
            #expect(outcome.ending == .code(code), "\(arguments): \(outcome.errors)")
            #expect(outcome.errors.split(separator: "\n").count == 1, "\(arguments): \(outcome.errors)")
            #expect(!outcome.errors.contains("secretword"))
            #expect(outcome.output.isEmpty)
        }
        #expect(try folder.read("a") == [1], "an existing file is not replaced")
    }

    /// Sends a signal within a millisecond of `condition`, or when the process ended. Polls on its own thread, so that
    /// other tests' tasks cannot delay it until the transfer has ended.
    private static func send(
        _ signal: Int32, to process: RunningProcess, when condition: @escaping @Sendable () -> Bool
    ) async {
        await ThreadPool(name: "interrupt", threads: 1).run {
            while !condition(), process.isRunning { usleep(1000) }
            process.send(signal)
        }
    }

    @Test func interruptedTransferResumesWithSameCommand() async throws {
        let relay = try LocalRelay()
        let folder = try TemporaryFolder()
        let bytes = someBytes(120_000_000)
        try folder.write(bytes, to: "big")
        let send = ["file", "send", "big", "--relay", relay.address.text, "--out", "out"]
        let sending = try await ChatFSProcess.start(send, folder: folder.path)
        await Self.send(SIGINT, to: sending) { relay.relay.storedBytes >= 4_000_000 }
        #expect(try await sending.ending() == .code(130))
        #expect(sending.errors.contains("Repeat the command"))
        #expect(sending.output.isEmpty)
        let before = relay.relay.storedBytes
        let sent = try await ChatFSProcess.run(send, folder: folder.path)
        #expect(sent.succeeded, "\(sent.errors)")
        #expect(try folder.names(in: "out") == ["link.xftp.private", "rcv1.xftp", "snd.xftp.private"])
        let text = String(decoding: try folder.read("out/snd.xftp.private"), as: UTF8.self)
        let whole = try FileDescription(parsing: text).size
        // Only chunks in transit, and the link's chunk, were uploaded twice.
        #expect(relay.relay.storedBytes >= whole)
        #expect(relay.relay.storedBytes <= whole + 6 * 4_194_304 + 65_536)
        #expect(before < whole)

        let receive = ["file", "receive", "out/rcv1.xftp", "--out", "copy"]
        let receiving = try await ChatFSProcess.start(receive, folder: folder.path)
        await Self.send(SIGKILL, to: receiving) {
            let part = (try? folder.names())?.first { $0.hasSuffix(".part") }
            let file = part.flatMap { try? OpenFile(folder.path($0), flags: O_RDONLY) }
            return ((try? file?.size()) ?? 0) > 20_000_000
        }
        try await receiving.ending()
        #expect(!(try folder.names().contains("copy")), "never a partial file under its name")
        let received = try await ChatFSProcess.run(receive, folder: folder.path)
        #expect(received.succeeded, "\(received.errors)")
        #expect(try folder.read("copy") == bytes)
        #expect(try folder.names() == ["big", "copy", "out"])
    }
}

extension String {
    fileprivate var trimmingNewline: String { hasSuffix("\n") ? String(dropLast()) : self }
}
