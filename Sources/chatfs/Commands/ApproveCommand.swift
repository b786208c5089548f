import Base
import ChatCore
import CommandLineKit
import Desktop
import EmbeddedCore
import OfficialCore
import Posix
import SMP
import XFTP

/// `chatfs approve`: relays from which files may be received.
enum ApproveCommand {
    private static let words = Argument(
        "RELAY|FILE", .file, count: .any,
        "The address of a server, or a file on a mount that waits for approval.")
    private static let list = Option.flag(
        "list", "Print the policy, the approved servers and those waiting for approval.")
    private static let json = Option.flag("json", "For programs: print the list as one JSON object per line.")
    private static let revoke = Option.flag("revoke", "Revoke the approval of RELAY.")
    private static let policy = Option(
        "policy", named: "POLICY", .choice(RelayApprovalPolicy.self),
        "For relays not approved: ask (not received, the default) or always. With --core, never also refuses "
            + "approved relays; otherwise it equals ask.")

    static let command = Command(
        "approve", "Approve servers that others chose and you did not configure.",
        discussion: """
            The sender of a file chooses its relay, and a relay sees the network address of the recipient. So ChatFS \
            does not receive a file from a relay that you neither configured with --relay nor approved, and the error \
            names the relay. An approval covers one fingerprint at one host and port. It takes effect at once, also in \
            a mounted profile.

            Under every policy, servers inside this machine's own network, for files or for messages (smp://), need \
            configuration or approval. Servers for messages outside of it need no approval.

            With --list, or without arguments, it prints the policy and the approved servers, one per line, in the form \
            that --revoke takes. "waiting" marks servers inside the own network that contacts named. Received files \
            stay after an approval is revoked.

            A FILE on a mount approves the servers that its error names.
            """,
        section: CommandSection.chats, arguments: [words],
        options: [
            list, json, revoke, policy, CommonOptions.profile, CommonOptions.mount, CommonOptions.core,
            CommonOptions.database, CommonOptions.noEncryption,
        ] + CommonOptions.directory,
        examples: [
            Example("chatfs approve ~/Chats/Alice/film.mp4", "Receive this file and others from its relays."),
            Example("chatfs approve xftp://…@relay.example.org", "Receive files from this relay."),
            Example("chatfs approve --policy always", "Receive files from any relay."),
            Example("chatfs approve smp://…@192.168.1.5", "Reach contacts over this server."),
            Example("chatfs approve --list", "Show the approved servers."),
            Example("chatfs approve --revoke xftp://…@relay.example.org", "Revoke an approval."),
        ]
    ) { invocation in
        let words = invocation[words]
        let files = words.filter { ApprovedServers([$0]) == nil }
        if !files.isEmpty {
            let arePaths = await ThreadPool.shared.run { files.allSatisfy(FileApproval.canBePath) }
            guard arePaths, files.count == words.count, !invocation[revoke], !invocation[list],
                invocation[policy] == nil
            else { throw UsageError(Self.noAddress) }
            return try await FileApproval.approve(files)
        }
        let order = try Order(invocation)
        let choice = try OfficialCoreChoice(invocation)
        let approvals: Approvals
        if let choice {
            approvals = try await Approvals.of(choice, invocation)
        } else {
            approvals = try await Approvals.of(
                invocation.dataDirectory(), profile: invocation[CommonOptions.profile])
        }
        let lines = try await ThreadPool.shared.run { try carryOut(order, approvals) }
        for line in lines { Terminal.print(line) }
    }

    private static let noAddress =
        "the address of a relay looks like xftp://fingerprint@host:port, or smp:// for messages"

    /// The parsed command line.
    private struct Order: Sendable {
        var approved: ApprovedServers
        var policy: RelayApprovalPolicy?
        var revokes: Bool
        var lists: Bool
        var isForPrograms: Bool

        init(_ invocation: Invocation) throws(UsageError) {
            let addresses = invocation[words]
            guard let approved = ApprovedServers(addresses) else {
                throw UsageError(ApproveCommand.noAddress)
            }
            self.approved = approved
            policy = invocation[ApproveCommand.policy]
            revokes = invocation[revoke]
            isForPrograms = invocation[json]
            lists = invocation[list] || addresses.isEmpty && policy == nil && !revokes
            if revokes && addresses.isEmpty { throw UsageError("--revoke needs a RELAY") }
            if invocation[list], !addresses.isEmpty || policy != nil || revokes {
                throw UsageError("--list goes alone")
            }
        }
    }

    /// Carries out the command and returns the lines to print. Blocks.
    private static func carryOut(_ order: Order, _ approvals: Approvals) throws -> [String] {
        if order.lists, order.isForPrograms {
            func lines(_ state: String, _ addresses: [String]) -> [String] {
                addresses.map { JSONLine.object([("state", state), ("address", $0)]) }
            }
            return try [JSONLine.object([("policy", approvals.policy().rawValue)])]
                + lines("approved", approvals.list().map(\.text) + approvals.servers.list().map(\.text))
                + lines("waiting", approvals.servers.waiting().map(\.text))
        }
        if order.lists {
            return try ["policy \(approvals.policy().rawValue)"] + approvals.list().map(\.text)
                + approvals.servers.list().map(\.text)
                + approvals.servers.waiting().map { "waiting \($0.text)" }
        }
        if order.revokes {
            let revoked =
                try approvals.revoke(order.approved.relays).map(\.text)
                + approvals.servers.revoke(order.approved.servers).map(\.text)
            let all = order.approved.relays.map(\.text) + order.approved.servers.map(\.text)
            if let unknown = all.first(where: { !revoked.contains($0) }) {
                throw ChatError(.invalidCommand, "This relay was not approved: \(unknown)")
            }
        } else {
            try approvals.approve(order.approved.relays)
            if !order.approved.servers.isEmpty { try approvals.servers.approve(order.approved.servers) }
        }
        if let policy = order.policy { try approvals.setPolicy(policy) }
        try approvals.tellMount()
        return []
    }
}

/// Access to the approvals of a profile, or of an official core, which need not run. All closures block.
private struct Approvals: Sendable {
    var list: @Sendable () throws -> [RelayAddress]
    var approve: @Sendable ([RelayAddress]) throws -> Void
    /// Returns the revoked approvals.
    var revoke: @Sendable ([RelayAddress]) throws -> [RelayAddress]
    var policy: @Sendable () throws -> RelayApprovalPolicy
    var setPolicy: @Sendable (RelayApprovalPolicy) throws -> Void
    var servers = Servers()
    /// The daemon of the mount; nil if not mounted.
    var daemon: @Sendable () throws -> ControlClient?

    /// Approvals of messaging servers; an official core decides about its own.
    struct Servers: Sendable {
        var list: @Sendable () throws -> [ServerAddress] = { [] }
        var waiting: @Sendable () throws -> [ServerAddress] = { [] }
        var approve: @Sendable ([ServerAddress]) throws -> Void = { _ in
            throw ChatError(
                .invalidCommand, "The official core chooses its messaging servers itself.")
        }
        var revoke: @Sendable ([ServerAddress]) throws -> [ServerAddress] = { _ in [] }
    }

    /// Makes the mount retry waiting files and failed reads at once. If the request fails, the approval takes
    /// effect with the mount's next retry.
    func tellMount() throws {
        do {
            _ = try daemon()?.ask(CacheRequest(.tryAgain))
        } catch {
            Terminal.complain(
                "chatfs: approved, but the mount will notice only at its next retry: \(Base.sentence(of: error))"
            )
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
            servers: Servers(
                list: { try directory.approvedServers(of: profile) },
                waiting: { try directory.refusedServers(of: profile) },
                approve: { try directory.approveServers($0, for: profile) },
                revoke: { try directory.revokeServers($0, of: profile) }),
            daemon: { try ControlClient.connect(profileFolder: folder) })
    }

    static func of(_ choice: OfficialCoreChoice, _ invocation: Invocation) async throws -> Approvals {
        let access = try DirectoryAccess(invocation)
        let folder = choice.folder(dataPath: access.path)
        let trust = try await ThreadPool.shared.run { () throws(any Error) in
            let directory = try access.open(isMade: true)
            _ = try PrivateFolder(folder, purpose: OfficialCoreSettings.purpose)
            return try OfficialRelayTrust(folder: folder, key: directory.key)
        }
        return Approvals(
            list: { try trust.approved() }, approve: { try trust.approve($0) },
            revoke: { try trust.revoke($0) },
            policy: { try trust.policy() ?? .ask },
            setPolicy: { try trust.setPolicy($0) },
            daemon: { try ControlClient.connect(coreFolder: folder) })
    }
}
