import Base
import ChatCore
import CommandLineKit
import Cryptography
import Desktop
import EmbeddedCore
import Keeping
import Posix

/// `chatfs keep`: rules for receiving files before relays drop them.
enum KeepCommand {
    static let command = Command(
        "keep", "Choose files to receive before relays delete them.",
        discussion: """
            Relays delete files after 48 hours. Opening a file receives it; these rules select other files. A mount \
            receives them with lower priority than reads, and keeps them encrypted, like all received files. It skips \
            files on relays that you did not approve, and pauses on connections that NetworkManager calls metered, \
            unless a rule allows them. Twelve hours before relays delete a file that is not local, programs are \
            notified ('chatfs events').
            """,
        section: CommandSection.daily,
        subcommands: [
            Command(
                "show", "Print the rules.",
                discussion: "Prints the rule for all chats, then those of chats with rules of their own.",
                options: [chat, json] + CommonOptions.access,
                examples: [Example("chatfs keep show --chat Bob", "Print the rule for Bob.")]
            ) { invocation in
                try await carryOut(KeepRequest(.show, chat: invocation[chat]), invocation)
            },
            Command(
                "set", "Change the rules.",
                discussion: """
                    Without --chat the rule applies to all chats without a rule of their own. Options that you do not \
                    give keep their value. A mount applies the change at once.
                    """,
                options: [chat] + KeepOptions.all + [reset, json] + CommonOptions.access,
                examples: [
                    Example(
                        "chatfs keep set --what media --max-size 50mb", "Keep pictures and shorter videos."),
                    Example("chatfs keep set --chat Family --what all", "Keep all files of one group."),
                    Example("chatfs keep set --auto-receive no", "Receive files only when you read them."),
                    Example("chatfs keep set --chat Family --reset", "Use the rule for all chats again."),
                ]
            ) { invocation in try await carryOut(try change(invocation), invocation) },
        ])

    private static let reset = Option.flag(
        "reset", "Reset the rule of the chat, or of all chats, to the default.")
    private static let json = Option.flag("json", "Print the rules as JSON, one per line.")
    private static let chat = Option(
        "chat", named: "CHAT", .listed("chats"), "A contact, group or chat, by its name or reference.")

    private static func change(_ invocation: Invocation) throws(UsageError) -> KeepRequest {
        var request = KeepOptions.change(in: invocation[chat], to: invocation.given)
        let isEmpty = request == KeepRequest(.set, chat: invocation[chat])
        if invocation[reset] {
            guard isEmpty else { throw UsageError("--reset goes alone, or with --chat") }
            request.action = .reset
        } else if isEmpty {
            throw UsageError(
                "nothing to change: give --what, --max-size, --min-free, --metered, --when, --auto-receive or --reset"
            )
        }
        // SQLite's range of integers.
        for case let size? in [request.largest, request.minimumFree] where size > UInt64(Int64.max) {
            throw UsageError("the size is out of range")
        }
        return request
    }

    private static func carryOut(_ request: KeepRequest, _ invocation: Invocation) async throws {
        for rule in try await rules(request, ProfileAccess(invocation)) {
            Terminal.print(
                invocation[json]
                    ? try JSONLine.encoded(rule) : PrintableText.escaping(line(rule)))
        }
    }

    private static func rules(
        _ request: KeepRequest, _ access: ProfileAccess
    ) async throws -> [ListedRule] {
        if access.settings.core.isEmbedded { return try await ownRules(request, access.settings) }
        return try await access.use { daemon in
            try await ThreadPool.shared.run { () throws(DesktopError) in try daemon.ask(request) }
        } opened: { opened in
            let chats = try await opened.folders.chats(of: opened.core)
            return try await answer(request, chats, in: opened.folder, key: opened.key)
        }
    }

    /// Changes rules of the data directory without a core, and tells a mount to reread them.
    private static func ownRules(
        _ request: KeepRequest, _ settings: CoreSettings
    ) async throws -> [ListedRule] {
        let directory = try await settings.openDirectory()
        let (folder, chats) = try await ThreadPool.shared.run { () throws(ChatError) in
            let profile = try directory.profile(named: settings.profile)
            return (try directory.folders(of: profile).own, try directory.namedChats(of: profile))
        }
        let ask = { @Sendable (request: KeepRequest) throws(DesktopError) in
            try ControlClient.connect(profileFolder: folder)?.ask(request)
        }
        if let rules = try await ThreadPool.shared.run({ () throws(DesktopError) in try ask(request) }) {
            return rules
        }
        let rules = try await answer(request, chats, in: folder, key: directory.key)
        // A mount that began meanwhile may have read the old rules.
        _ = try await ThreadPool.shared.run { () throws(DesktopError) in try ask(KeepRequest(.show)) }
        return rules
    }

    private static func answer(
        _ request: KeepRequest, _ chats: NamedChats, in folder: String, key: SecretBytes?
    ) async throws -> [ListedRule] {
        try await ThreadPool.shared.run {
            let store = try KeepStore(in: folder, key: key)
            defer { store.close() }
            return try KeepRuleEditor(store: store, chats: chats).answer(request)
        }
    }

    private static func line(_ rule: ListedRule) -> String {
        let whose = rule.name.map { "\($0) (\(rule.chat ?? ""))" } ?? "all chats"
        return "\(whose): --what \(rule.what) --max-size \(ByteCount.exact(rule.largest)) --min-free "
            + "\(ByteCount.exact(rule.minimumFree)) --metered \(rule.metered ? "yes" : "no") --when \(rule.when) "
            + "--auto-receive \(rule.autoReceive ? "yes" : "no")"
    }
}
