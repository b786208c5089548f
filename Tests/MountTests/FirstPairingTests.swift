import TestSupport
import Testing

/// Pairing for the first time, on a terminal and without own servers.
@Suite struct FirstPairingTests {
    private let folder: TemporaryFolder
    private static let conditions = "Accept the conditions and use them? [y/N] "
    /// A closed port, so that nothing leaves this machine.
    private static let closedProxy = "127.0.0.1:1"

    init() throws { folder = try TemporaryFolder() }

    private var data: [String] { ["--data", folder.path("data")] }

    private func answer(
        _ command: [String], _ answer: String
    ) async throws -> ScriptedTerminal.Outcome {
        try await ScriptedTerminal.run(
            ChatFSProcess.path, command + data, [.wait(Self.conditions), .type(answer + "\n")])
    }

    private func relays() async throws -> String {
        try await ChatFSProcess.run(["relay", "list"] + data).output
    }

    @Test("without consent no server is used")
    func refused() async throws {
        let pair = try await answer(["pair", "--profile", "desk", "--no-encryption"], "n")
        #expect(pair.ending == .code(1))
        #expect(
            pair.shown.contains("SimpleX Chat Ltd") && pair.shown.contains("https://simplex.chat/privacy/"))
        #expect(
            pair.shown.contains("'chatfs relay add'") && pair.shown.contains("'chatfs relay preset simplex'"))
        #expect(try await relays() == "")
        // Without a terminal there is no prompt.
        let script = try await ChatFSProcess.run(["pair"] + data)
        #expect(!script.succeeded && !script.errors.contains(Self.conditions), "\(script.errors)")
        #expect(script.errors.contains("'chatfs relay preset simplex'"))
    }

    @Test(
        "consent adds the operator's servers and is remembered",
        arguments: ["pair", "address create"])
    func accepted(command: String) async throws {
        let words = command.split(separator: " ").map(String.init)
        for first in [
            ["profile", "create", "desk", "--no-encryption"],
            ["network", "set", "--socks-proxy", Self.closedProxy],
        ] {
            #expect(try await ChatFSProcess.run(first + data).succeeded)
        }
        let asked = try await answer(words, "yes")
        #expect(asked.ending == .code(1))
        #expect(asked.shown.contains("SOCKS proxy at \(Self.closedProxy)"), "\(asked.shown)")
        let relays = try await relays()
        #expect(relays.contains("smp://") && relays.contains("xftp://") && relays.contains(".simplex.im"))
        let again = try await ScriptedTerminal.run(ChatFSProcess.path, words + data, [])
        #expect(again.ending == .code(1) && !again.shown.contains(Self.conditions), "\(again.shown)")
    }
}
