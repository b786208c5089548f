import ChatCore
import CommandLineKit
import EmbeddedCore
import Posix

/// What `chatfs contact` and `chatfs group` have in common.
struct ChatManaging {
    enum Kind: String, Sendable {
        case contact, group

        func fits(_ chat: Chat) -> Bool {
            switch chat.reference {
            case .direct: self == .contact
            case .group: self == .group
            case .notes: false
            }
        }
    }

    private let kind: Kind
    private var word: String { kind.rawValue }
    private var argument: Argument {
        Argument(word.uppercased(), .listed("chats"), "The name of the \(word), or its reference.")
    }

    init(_ kind: Kind) { self.kind = kind }

    var commands: [Command] { [list, rename, leave, delete] }

    private var list: Command {
        Command(
            "list", "Print the names of all \(word)s, one a line.",
            options: [CommonOptions.profile, CommonOptions.data]
        ) { [kind] invocation in
            for chat in try await Self.chats(kind, invocation).chats { Terminal.print(chat.displayName) }
        }
    }

    private var rename: Command {
        Command(
            "rename", "Give a \(word) the name that you want to see.",
            discussion: "Nobody else sees it. The folder in a mount gets it at once, if no other has it.",
            arguments: [argument, Argument("NAME", .text, "Its new name.")],
            options: [CommonOptions.profile, CommonOptions.data],
            examples: [Example("chatfs \(word) rename Bob 'Bob from work'", "Another name for Bob.")]
        ) { [kind] invocation in
            let (directory, profile, chat) = try await Self.chat(kind, invocation)
            let name = invocation.argument("NAME")
            try await ThreadPool.shared.run { () throws(ChatError) in
                try directory.rename(chat, of: profile, to: name)
            }
        }
    }

    private var leave: Command {
        Command(
            "leave", "End a \(word): nothing goes in or comes any more, what is there stays.",
            arguments: [argument], options: [CommonOptions.profile, CommonOptions.data],
            examples: [Example("chatfs \(word) leave Bob", "No more from there.")]
        ) { [kind] invocation in
            let (directory, profile, chat) = try await Self.chat(kind, invocation)
            try await ThreadPool.shared.run { () throws(ChatError) in
                try directory.leave(chat, of: profile)
            }
        }
    }

    private var delete: Command {
        Command(
            "delete", "Leave a \(word) and delete all its files here.",
            discussion: "What the others have stays theirs. The profile must not be mounted.",
            arguments: [argument],
            options: [Confirmation.option, CommonOptions.profile, CommonOptions.data],
            examples: [Example("chatfs \(word) delete Bob --yes", "Without a question.")]
        ) { [kind] invocation in
            let (directory, profile, chat) = try await Self.chat(kind, invocation)
            let name = invocation.argument(kind.rawValue.uppercased())
            try await Confirmation.ask("Delete \(name) with all files?", invocation)
            let core = try await EmbeddedCore.open(directory, profile: profile.displayName)
            do throws(ChatError) {
                try await core.deleteChat(chat)
            } catch {
                await core.shutDown()
                throw error
            }
            await core.shutDown()
        }
    }

    private static func chats(
        _ kind: Kind, _ invocation: Invocation
    ) async throws -> (directory: DataDirectory, profile: Profile, chats: [Chat]) {
        let directory = try await invocation.dataDirectory()
        let name = invocation["profile"]
        return try await ThreadPool.shared.run { () throws(ChatError) in
            let profile = try directory.profile(named: name)
            return (directory, profile, try directory.chats(of: profile).filter(kind.fits))
        }
    }

    private static func chat(
        _ kind: Kind, _ invocation: Invocation
    ) async throws -> (DataDirectory, Profile, ChatReference) {
        let (directory, profile, chats) = try await chats(kind, invocation)
        let chat = try Chat.named(invocation.argument(kind.rawValue.uppercased()), in: chats)
        return (directory, profile, chat.reference)
    }
}

/// The question before something is deleted.
enum Confirmation {
    static let option = Option.flag("yes", "Do not ask.")

    static func ask(_ question: String, _ invocation: Invocation) async throws {
        if invocation.has("yes") { return }
        let answer = await ThreadPool.shared.run { Question.line("\(question) [y/N] ") }
        guard answer?.lowercased().hasPrefix("y") == true else {
            throw UsageError("nothing was deleted; --yes answers the question beforehand")
        }
    }
}
