import ChatCore
import CommandLineKit
import EmbeddedCore
import Network
import Posix

/// `chatfs relay test`: tests relays.
enum RelayTestCommand {
    private static let addresses = Argument(
        "ADDR", .text, count: .any,
        "Address of a relay, with its password; default all relays of the profile.")
    private static let proxy = Option(
        "socks-proxy", named: "HOST:PORT", .text,
        "Connect through this SOCKS5 proxy; default the proxy of 'chatfs network'.")

    static let command = Command(
        "test", "Test relays.",
        discussion: """
            Connects to each relay, verifies its identity, and creates and deletes a queue or a chunk with 64 KiB of \
            random bytes. Ends with 1 if a relay fails.
            """,
        arguments: [addresses], options: [proxy, ProgramConnection.json] + CommonOptions.ofProfile,
        examples: [
            Example("chatfs relay test", "Test all relays of the profile."),
            Example("chatfs relay test smp://…@relay.example", "Test a relay before adding it."),
        ]
    ) { invocation in
        var trial = RelayTrial()
        var relays = try await AnyRelay.read(invocation[addresses])
        // Shared, because a descriptor can be read once only.
        let access = try DirectoryAccess(invocation)
        // A profile with a proxy never connects directly.
        trial.proxy =
            if let proxy = try invocation.proxy(proxy) {
                proxy
            } else {
                try await ProfileRelays.proxy(of: invocation[CommonOptions.profile], through: access)
            }
        if relays.isEmpty {
            relays = try await ProfileRelays(of: invocation[CommonOptions.profile], through: access)
                .listWithPasswords()
        }
        guard !relays.isEmpty else {
            throw ChatError(.file(.noRelay), "The profile has no relays: 'chatfs relay add' adds some.")
        }
        let findings = await trial.findings(of: relays)
        for finding in findings {
            Terminal.print(invocation[ProgramConnection.json] ? finding.json : finding.line)
        }
        if findings.contains(where: { $0.isBad }) { throw ExitCode.failure }
    }
}
