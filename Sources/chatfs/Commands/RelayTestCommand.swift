import ChatCore
import CommandLineKit
import EmbeddedCore
import Network
import Posix

/// `chatfs relay test`: tests relays.
enum RelayTestCommand {
    static let command = Command(
        "test", "Look whether relays work.",
        discussion: """
            Connects to each relay, looks whether it is the one of its address, makes a queue or a chunk of 64 KiB of \
            random bytes there, and deletes it. Ends with 1 when one does not work.
            """,
        arguments: [
            Argument(
                "ADDR", .text, count: .any, "Its address, with its password; those of the profile without.")
        ],
        options: [
            .value(
                "socks-proxy", named: "HOST:PORT", .text,
                "Reach them through this SOCKS5 proxy; else through that of 'chatfs network'."),
            ProgramConnection.json, CommonOptions.profile, CommonOptions.mount,
        ] + CommonOptions.directory,
        examples: [
            Example("chatfs relay test", "All that the profile uses."),
            Example("chatfs relay test smp://…@relay.example", "Before it is added."),
        ]
    ) { invocation in
        var trial = RelayTrial()
        var relays = try await AnyRelay.read(invocation)
        // Shared, because a descriptor can be read once only.
        let access = try DirectoryAccess(invocation)
        // A profile with a proxy never connects directly.
        trial.proxy =
            if let text = invocation["socks-proxy"] {
                try Invocation.proxy(text)
            } else {
                try await ProfileRelays.proxy(of: invocation["profile"], through: access)
            }
        if relays.isEmpty {
            relays = try await ProfileRelays(of: invocation["profile"], through: access).listWithPasswords()
        }
        guard !relays.isEmpty else {
            throw ChatError(.file(.noRelay), "The profile has no relays: 'chatfs relay add' gives it some.")
        }
        let findings = await trial.findings(of: relays)
        for finding in findings { Terminal.print(invocation.has("json") ? finding.json : finding.line) }
        if findings.contains(where: { $0.isBad }) { throw ExitCode.failure }
    }
}
