import Base
import CommandLineKit
import Desktop
import Posix

/// `chatfs chats`: lists the chats of a mount.
enum ChatsCommand {
    static let command = Command(
        "chats", "List the chats of a mount.",
        discussion: """
            Prints the time of the last message, the folder and the reference of each chat, newest first. If a contact \
            or group now has another display name, it is shown too; commands do not accept it.
            """,
        section: CommandSection.daily, arguments: [CommonOptions.mountpoint],
        options: [ProgramConnection.json, CommonOptions.mount],
        examples: [Example("chatfs chats", "List the chats of the only mount.")]
    ) { invocation in
        let mounted = try await Mounted.chosen(by: invocation)
        let client = try await ProgramConnection.client(of: mounted)
        let chats = try await ThreadPool.shared.run { try client.chats() }
        for chat in chats.sorted(by: { $0.updated > $1.updated }) {
            if invocation[ProgramConnection.json] {
                Terminal.print(try ProgramConnection.json(chat))
                continue
            }
            let unread = chat.unread.map { ", \($0) unread" } ?? ""
            let refused = chat.refused.map { " — \($0)" } ?? ""
            let label = chat.name == chat.folder ? "" : ", display name: \(chat.name)"
            let line =
                "\(Timestamp(seconds: chat.updated).text)  \(chat.folder)  (\(chat.chat)\(label)\(unread))\(refused)"
            Terminal.print(PrintableText.escaping(line))
        }
    }
}
