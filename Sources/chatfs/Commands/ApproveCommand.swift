import Base
import ChatCore
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
            The sender of a file chooses its relay, and a relay sees the network address of the recipient. \
            So a file on a relay that you neither configured with --relay nor approved is not received, and \
            its error names the relay. Approving counts for one fingerprint at one host and port, at once, \
            also for a profile that is mounted.

            Relays inside this machine's own network are never contacted unless configured or approved, \
            whatever the policy.

            With --list, or without anything, it prints the policy and the approved relays, one a line, as they \
            are given to --revoke. What was received stays when an approval is taken back.
            """,
        section: CommandSection.chats,
        arguments: [Argument("RELAY", .text, count: .any, "The address in the error of the file.")],
        options: [
            .flag("list", "Print the policy and the approved relays."),
            .flag("revoke", "Take the approval of RELAY back."),
            .value(
                "policy", named: "POLICY", .choice(RelayApprovalPolicy.allCases.map(\.rawValue)),
                "For relays not approved: ask (not received, the default), always, never."),
            CommonOptions.profile, CommonOptions.core, CommonOptions.database, CommonOptions.noEncryption,
        ] + CommonOptions.directory,
        examples: [
            Example("chatfs approve xftp://…@relay.example.org", "Receive files from this relay."),
            Example("chatfs approve --policy always", "Receive files from any relay."),
            Example("chatfs approve --list", "What was approved."),
            Example("chatfs approve --revoke xftp://…@relay.example.org", "Not any more."),
        ]
    ) { invocation in
        let order = try Order(invocation)
        let choice = try OfficialCoreChoice(core: invocation["core"], database: invocation["database"])
        let approvals: Approvals
        if let choice {
            approvals = try await Approvals.of(choice, invocation)
        } else {
            approvals = try await Approvals.of(invocation.dataDirectory(), profile: invocation["profile"])
        }
        let lines = try await ThreadPool.shared.run { try carryOut(order, approvals) }
        for line in lines { Terminal.print(line) }
    }

    /// What the command line asks for.
    private struct Order: Sendable {
        var relays: [RelayAddress]
        var policy: RelayApprovalPolicy?
        var revokes: Bool
        var lists: Bool

        init(_ invocation: Invocation) throws(UsageError) {
            relays = try invocation.allArguments("RELAY").map { text throws(UsageError) in
                try Invocation.relay(text).withoutPassword
            }
            policy = invocation["policy"].flatMap(RelayApprovalPolicy.init)
            revokes = invocation.has("revoke")
            lists = invocation.has("list") || relays.isEmpty && policy == nil && !revokes
            if revokes && relays.isEmpty { throw UsageError("--revoke needs a RELAY") }
            if invocation.has("list"), !relays.isEmpty || policy != nil || revokes {
                throw UsageError("--list goes alone")
            }
        }
    }

    /// The lines to print. Blocks.
    private static func carryOut(_ order: Order, _ approvals: Approvals) throws -> [String] {
        if order.lists {
            return ["policy \(try approvals.policy().rawValue)"] + (try approvals.list()).map(\.text)
        }
        if order.revokes {
            let revoked = try approvals.revoke(order.relays)
            if let unknown = order.relays.first(where: { !revoked.contains($0) }) {
                throw ChatError(.invalidCommand, "This relay was not approved: \(unknown.text)")
            }
        } else {
            try approvals.approve(order.relays)
        }
        if let policy = order.policy { try approvals.setPolicy(policy) }
        try approvals.tellMount()
        return []
    }
}

/// Where approvals are kept: with a profile of the data directory, or with an official core, which need not
/// run. All closures block.
private struct Approvals: Sendable {
    var list: @Sendable () throws -> [RelayAddress]
    var approve: @Sendable ([RelayAddress]) throws -> Void
    /// Answers those that were approved.
    var revoke: @Sendable ([RelayAddress]) throws -> [RelayAddress]
    var policy: @Sendable () throws -> RelayApprovalPolicy
    var setPolicy: @Sendable (RelayApprovalPolicy) throws -> Void
    /// The daemon of the mount, where there is one.
    var daemon: @Sendable () throws -> ControlClient?

    /// What waited for this is received at once, and reads of it succeed, where the profile is mounted. When
    /// that cannot be told the approval holds all the same, from the next try of the mount on.
    func tellMount() throws {
        do {
            _ = try daemon()?.ask(CacheRequest(.tryAgain))
        } catch {
            Terminal.complain(
                "chatfs: it holds, but the mount could not be told at once: \(Base.sentence(of: error))")
        }
    }

    static func of(_ directory: DataDirectory, profile name: String?) async throws -> Approvals {
        let (profile, folder) = try await ThreadPool.shared.run { () throws(ChatError) in
            let profile = try directory.profile(named: name)
            return (profile, try directory.folders(of: profile).own)
        }
        return Approvals(
            list: { try directory.approvedRelays(of: profile) },
            approve: { try directory.approveRelays($0, for: profile) },
            revoke: { try directory.revokeRelays($0, of: profile) },
            policy: { try directory.relayPolicy(of: profile) },
            setPolicy: { try directory.setRelayPolicy($0, of: profile) },
            daemon: { try ControlClient.connect(profileFolder: folder) })
    }

    static func of(_ choice: OfficialCoreChoice, _ invocation: Invocation) async throws -> Approvals {
        let access = try DirectoryAccess(invocation)
        let folder = choice.folder(dataPath: access.path)
        let trust = try await ThreadPool.shared.run { () throws(any Error) in
            let directory = try access.open(isMade: true)
            _ = try PrivateFolder(folder, purpose: "chatfs official core")
            return try OfficialRelayTrust(folder: folder, key: directory.key)
        }
        return Approvals(
            list: { try trust.approved() }, approve: { try trust.approve($0) },
            revoke: { try trust.revoke($0) },
            policy: { RelayApprovalPolicy(try trust.policy() ?? .ask) },
            setPolicy: { try trust.setPolicy(OfficialCoreSettings.UnknownRelays($0)) },
            daemon: { try ControlClient.connect(coreFolder: folder) })
    }
}

extension RelayApprovalPolicy {
    fileprivate init(_ relays: OfficialCoreSettings.UnknownRelays) {
        switch relays {
        case .ask: self = .ask
        case .always: self = .always
        case .never: self = .never
        }
    }
}

extension OfficialCoreSettings.UnknownRelays {
    fileprivate init(_ policy: RelayApprovalPolicy) {
        switch policy {
        case .ask: self = .ask
        case .always: self = .always
        case .never: self = .never
        }
    }
}
