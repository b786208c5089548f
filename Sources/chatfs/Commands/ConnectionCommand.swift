import ChatCore
import CommandLineKit
import Desktop

/// `chatfs connection`: all connections, including those without a chat.
enum ConnectionCommand {
    private static let number = Argument(
        "NUMBER", .text, "Number of the connection, as 'chatfs connection list' prints it.")

    static let command = Command(
        "connection", "List all connections of a profile, and delete unused ones.",
        discussion: """
            A connection consists of queues at messaging servers and keys. Contacts, groups and the address have \
            connections. So do unused links, and accepted requests whose sender never completed the connection.
            """,
        section: CommandSection.chats, subcommands: [list, delete])

    private static let list = Command(
        "list", "Print all connections.",
        discussion: """
            Each line has the number, purpose and chat, if any, of a connection, and the messaging servers that hold \
            its queues.
            """,
        options: [ProgramConnection.json] + CommonOptions.access,
        examples: [Example("chatfs connection list", "Include connections without a chat.")]
    ) { invocation in
        let access = try ProfileAccess(invocation)
        var last: Int64 = 0
        while let part = try await access.ask(.connections(after: last)).connections, let end = part.last {
            for connection in part {
                Terminal.print(
                    invocation[ProgramConnection.json]
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
        "delete", "Delete an unused connection and its queues.",
        discussion: """
            Its queues are also deleted from servers that can be reached. The other side is not notified. Connections \
            of contacts, groups and the address are deleted with these.
            """,
        arguments: [number], options: CommonOptions.access,
        examples: [Example("chatfs connection delete 12", "Delete connection 12.")]
    ) { invocation in
        guard let number = Int64(invocation[number]), number > 0 else {
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
        case .invitation: "unused link"
        case .joining: "no answer yet"
        case .accepted: "accepted at the address, no answer yet"
        case .unknown: "unknown, no profile received yet"
        case .failed: "could not be made"
        case .ending: "being deleted"
        case .damaged: "damaged"
        }
    }
}
