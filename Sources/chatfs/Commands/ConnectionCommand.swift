import ChatCore
import CommandLineKit
import Desktop

/// `chatfs connection`: all connections, including those without a chat.
enum ConnectionCommand {
    static let command = Command(
        "connection", "List every connection of a profile, and delete those that lead nowhere.",
        discussion: """
            A connection is what lies beneath a contact: queues at messaging servers, and keys. Contacts, groups and the \
            address have some; so has a link that nobody has used, and a stranger who was accepted and never said who they \
            are.
            """,
        section: CommandSection.chats, subcommands: [list, delete])

    private static let list = Command(
        "list", "Print all connections.",
        discussion: """
            A line for each: its number, what it is for, the chat where there is one, and the messaging servers on which \
            this profile has queues for it.
            """,
        options: [ProgramConnection.json] + CommonOptions.access,
        examples: [Example("chatfs connection list", "Also those that no other list shows.")]
    ) { invocation in
        let access = try ProfileAccess(invocation)
        var last: Int64 = 0
        while let part = try await access.ask(.connections(after: last)).connections, let end = part.last {
            for connection in part {
                Terminal.print(
                    invocation.has("json")
                        ? try ProgramConnection.json(connection) : PrintableText.escaping(line(connection)))
            }
            last = end.number
        }
    }

    private static func line(_ connection: ListedConnection) -> String {
        let name = connection.name.map { " \($0)" } ?? ""
        let servers = connection.servers.isEmpty ? "" : "  \(connection.servers.joined(separator: " "))"
        let problem = connection.problem.map { " (\($0))" } ?? ""
        return "\(connection.number)  \(connection.purpose.words)\(name)\(problem)\(servers)"
    }

    private static let delete = Command(
        "delete", "Delete a connection that leads nowhere, with its queues.",
        discussion: """
            Its queues go from their servers too, when these can be reached; nobody is told. Connections of contacts, of \
            groups and of the address go with these.
            """,
        arguments: [Argument("NUMBER", .text, "Of the connection, as 'chatfs connection list' prints it.")],
        options: CommonOptions.access,
        examples: [Example("chatfs connection delete 12", "Whoever that was.")]
    ) { invocation in
        guard let number = Int64(invocation.argument("NUMBER")), number > 0 else {
            throw UsageError("expected the number of a connection, as 'chatfs connection list' prints it")
        }
        _ = try await ProfileAccess(invocation).ask(.deleteConnection(number))
    }
}

extension ListedConnection.Purpose {
    /// The word in the list.
    fileprivate var words: String {
        switch self {
        case .contact: "contact"
        case .group: "group"
        case .member: "member of the group"
        case .address: "address"
        case .invitation: "link that nobody has used"
        case .joining: "no answer yet"
        case .accepted: "accepted at the address, no answer yet"
        case .unknown: "somebody who has not said who they are"
        case .failed: "could not be made"
        case .ending: "being deleted"
        case .damaged: "damaged"
        }
    }
}
