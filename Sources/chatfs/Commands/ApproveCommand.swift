import CommandLineKit
import Desktop
import EmbeddedCore
import OfficialCore
import Posix
import XFTP

/// `chatfs approve`: which relays files may be received from.
enum ApproveCommand {
    static let command = Command(
        "approve", "Let files be received from relays that you did not configure.",
        discussion: """
            Whoever sends a file chooses its relay, and a relay sees the network address of who receives. \
            So a file on a relay that you neither configured with --relay nor approved is not received, and \
            its error names the relay. Approving counts for one fingerprint at one host and port, at once, \
            also for a profile that is mounted.

            Relays inside this machine's own network are never contacted unless configured or approved, \
            whatever the policy.

            Without RELAY and --policy it prints the policy and the approved relays.
            """,
        section: ChatFS.Section.chats,
        arguments: [Argument("RELAY", .text, count: .any, "The address in the error of the file.")],
        options: [
            .value(
                "policy", named: "POLICY", .choice(RelayApprovalPolicy.allCases.map(\.rawValue)),
                "For relays not approved: ask (not received, the default), always, never."),
            CommonOptions.profile, CommonOptions.data, CommonOptions.core, CommonOptions.database,
        ],
        examples: [
            Example("chatfs approve xftp://…@relay.example.org", "Receive files from this relay."),
            Example("chatfs approve --policy always", "Receive files from any relay."),
        ]
    ) { invocation in
        var relays = try invocation.allArguments("RELAY").map(Invocation.relay)
        relays = relays.map(\.withoutPassword)
        let choice = try OfficialCoreChoice(core: invocation["core"], database: invocation["database"])
        if let choice {
            return try await approve(relays, of: choice, invocation)
        }
        let directory = try await invocation.dataDirectory()
        let policy = invocation["policy"].flatMap(RelayApprovalPolicy.init)
        let name = invocation["profile"]
        let lines = try await ThreadPool.shared.run { [relays] () -> [String] in
            let profile = try directory.profile(named: name)
            try directory.approveRelays(relays, for: profile)
            if let policy { try directory.setRelayPolicy(policy, of: profile) }
            guard relays.isEmpty, policy == nil else {
                tellMount(in: try directory.folders(of: profile).own)
                return []
            }
            return ["policy \(try directory.relayPolicy(of: profile).rawValue)"]
                + (try directory.approvedRelays(of: profile)).map(\.text)
        }
        for line in lines { Terminal.print(line) }
    }

    /// A pinned file that waited for this is tried at once, where the profile is mounted. A mount that does not
    /// hear it tries again within a minute. Blocks.
    private static func tellMount(in profileFolder: String) {
        guard let daemon = try? ControlClient.connect(profileFolder: profileFolder) else { return }
        _ = try? daemon.ask(CacheWish(.tryAgain))
    }

    /// For the profiles of an official core, which need not run.
    private static func approve(
        _ relays: [RelayAddress], of choice: OfficialCoreChoice, _ invocation: Invocation
    ) async throws {
        let data = MountSettings.absolute(invocation["data"] ?? DataDirectory.defaultPath())
        let policy = invocation["policy"].flatMap(OfficialCoreSettings.UnknownRelays.init)
        let lines = try await ThreadPool.shared.run { () throws(any Error) -> [String] in
            _ = try DataDirectory(data)
            let folder = choice.folder(dataPath: data)
            _ = try PrivateFolder(folder, purpose: "chatfs official core")
            let trust = try OfficialRelayTrust(folder: folder)
            try trust.approve(relays)
            if let policy { try trust.setPolicy(policy) }
            guard relays.isEmpty, policy == nil else {
                tellMount(in: folder)
                return []
            }
            return ["policy \((try trust.policy() ?? .ask).rawValue)"] + (try trust.approved()).map(\.text)
        }
        for line in lines { Terminal.print(line) }
    }
}
