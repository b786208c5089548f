import ChatCore
import CommandLineKit
import Desktop
import EmbeddedCore
import Posix

/// The common part of `chatfs contact` and `chatfs group`.
struct ChatCommands {
    private let kind: ChatKind
    private var word: String { kind.rawValue }
    /// Sample names for examples.
    private var sample: String { kind == .group ? "'Book club'" : "Bob" }
    private var renamed: String { kind == .group ? "'The old book club'" : "'Bob from work'" }
    private var argument: Argument<String> {
        Argument(word.uppercased(), .listed("chats"), "The name of the \(word), or its reference.")
    }

    private static let newName = Argument("NAME", .text, "The new name.")

    init(_ kind: ChatKind) { self.kind = kind }

    var commands: [Command] { [list, rename, leave, delete] }

    private var list: Command {
        Command(
            "list", "Print the names of all \(word)s, one per line.",
            discussion: """
                Standard error names each \(word) with a problem and its remedy: no longer receiving from it, outgoing \
                messages waiting, or a changed security code.
                """,
            options: [ProgramConnection.json] + CommonOptions.access,
            examples: [Example("chatfs \(word) list --profile alice", "List those of alice.")]
        ) { [kind] invocation in
            for name in try await Self.carryOut(ChatManagementRequest(.list, kind), invocation) {
                Terminal.print(
                    invocation[ProgramConnection.json]
                        ? JSONLine.object([("name", name)]) : PrintableText.escaping(name))
            }
        }
    }

    private var rename: Command {
        Command(
            "rename", "Rename a \(word) on this machine.",
            discussion:
                """
                Only you see the new name. Commands accept it at once, and the folder in a mount is renamed a moment \
                later if the name is free. A name that already selects another chat is refused.
                """,
            arguments: [argument, Self.newName], options: CommonOptions.access,
            examples: [Example("chatfs \(word) rename \(sample) \(renamed)", "Choose another name.")]
        ) { [kind, argument] invocation in
            let request = ChatManagementRequest(
                .rename, kind, chat: invocation[argument], name: invocation[Self.newName])
            _ = try await Self.carryOut(request, invocation)
        }
    }

    private var leave: Command {
        Command(
            "leave", "Leave a \(word): sending and receiving end, existing files stay.",
            arguments: [argument], options: CommonOptions.access,
            examples: [Example("chatfs \(word) leave \(sample)", "Leave, and keep the files.")]
        ) { [kind, argument] invocation in
            let name = invocation[argument]
            _ = try await Self.carryOut(ChatManagementRequest(.leave, kind, chat: name), invocation)
        }
    }

    private var delete: Command {
        Command(
            "delete", "Leave a \(word) and delete all its files here.",
            discussion: """
                Others keep their copies. A mount removes the folder at once, with files that were copied into it and \
                not sent yet. A program that has a file open keeps the local bytes.
                """,
            arguments: [argument], options: [Confirmation.option] + CommonOptions.access,
            examples: [Example("chatfs \(word) delete \(sample) --yes", "Do not ask.")]
        ) { [kind, argument] invocation in
            let name = invocation[argument]
            let find = ChatManagementRequest(.find, kind, chat: name)
            // By reference, because the name may belong to another chat after a long confirmation.
            let delete = { @Sendable (found: [String]) throws(DesktopError) -> ChatManagementRequest in
                guard found.count == 2 else { throw DeletionClient.malformed }
                return ChatManagementRequest(.delete, kind, chat: found[1])
            }
            let access = try ProfileAccess(invocation)
            let question = { @Sendable (found: [String]) in
                "Delete \(PrintableText.escaping(found.first ?? name)) with all files?"
            }
            let found: [String]? = try await access.use { daemon in
                try await Self.ask(daemon, find)
            } opened: { opened in
                let found = try await find.carryOut(on: opened.core, naming: opened.folders)
                try await Confirmation.ask(question(found), invocation)
                _ = try await delete(found).carryOut(on: opened.core, naming: opened.folders)
                return nil
            }
            guard let found else { return }
            // Ask before connecting, so that no daemon waits for the terminal.
            try await Confirmation.ask(question(found), invocation)
            try await access.use { daemon in
                _ = try await Self.ask(daemon, delete(found))
            } opened: { opened in
                _ = try await delete(found).carryOut(on: opened.core, naming: opened.folders)
            }
        }
    }

    private static func carryOut(
        _ request: ChatManagementRequest, _ invocation: Invocation
    ) async throws -> [String] {
        let access = try ProfileAccess(invocation)
        // The data directory suffices without a core; the process that has the profile follows its changes.
        if access.settings.core.isEmbedded { return try await note(request, access.settings) }
        return try await access.use { daemon in
            try await ask(daemon, request)
        } opened: { opened in
            try await all(request, opened)
        }
    }

    private static func note(_ request: ChatManagementRequest, _ settings: CoreSettings) async throws
        -> [String]
    {
        let directory = try await settings.openDirectory()
        let name = settings.profile
        return try await ThreadPool.shared.run { () throws(ChatError) in
            let profile = try directory.profile(named: name)
            let chats = try directory.namedChats(of: profile)
            if request.action == .list {
                let listed = chats.only(request.kind).all
                for chat in listed {
                    for problem in chat.chat.problems {
                        Terminal.note(PrintableText.escaping("chatfs: \(chat.name): \(problem)"))
                    }
                }
                return listed.map(\.name)
            }
            let chat = try chats.only(request.kind).chat(request.chat ?? "")
            switch request.action {
            case .rename:
                let name = request.name ?? ""
                try chats.check(alias: name, of: chat.reference)
                try directory.rename(chat.reference, of: profile, to: name)
            case .leave: try directory.leave(chat.reference, of: profile)
            case .list, .find, .delete: break
            }
            return [chat.name]
        }
    }

    private static func ask(_ daemon: ControlClient, _ request: ChatManagementRequest) async throws
        -> [String]
    {
        try await ThreadPool.shared.run { () throws(DesktopError) in try daemon.manage(request) }
    }

    private static func all(
        _ request: ChatManagementRequest, _ opened: MountedCore
    ) async throws(ChatError) -> [String] {
        var (request, names) = (request, [String]())
        while true {
            let part = try await request.carryOut(on: opened.core, naming: opened.folders)
            names += part
            if request.action != .list || part.isEmpty { return names }
            request.skipped = names.count
        }
    }
}

/// The question before a deletion.
enum Confirmation {
    static let option = Option.flag("yes", "Do not ask.")

    static func ask(_ question: String, _ invocation: Invocation) async throws {
        if invocation[option] { return }
        guard Question.canBeAsked else {
            throw UsageError("there is no terminal for the question; answer it with --yes")
        }
        let answer = await ThreadPool.shared.run { Question.line("\(question) [y/N] ") }
        guard answer?.lowercased().hasPrefix("y") == true else { throw Refusal("Nothing was deleted.") }
    }
}
