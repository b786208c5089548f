import ChatCore
import CommandLineKit
import EmbeddedCore
import Posix

/// `chatfs group`: chats of several profiles.
enum GroupCommand {
    private static let name = Argument("NAME", .text, "The name of the group.")
    private static let members = Argument(
        "MEMBER", .text, count: .oneOrMore, "The profiles of the group, the owner first.")

    static let command = Command(
        "group", "Make, list, rename, leave and delete groups.", section: CommandSection.chats,
        subcommands: [create] + ChatCommands(.group).commands)

    private static let create = Command(
        "create", "Make a group of two or more profiles; the first is its owner.",
        arguments: [name, members], options: CommonOptions.directory,
        examples: [Example("chatfs group create 'Book club' alice bob carol", "Make a group of three.")]
    ) { invocation in
        let directory = try await invocation.dataDirectory()
        let (name, members) = (invocation[name], invocation[members])
        try await ThreadPool.shared.run { () throws(ChatError) in
            try directory.createGroup(name, members: members)
            try directory.recordFolders()
        }
    }
}
