import Base
import ChatCore
import CommandLineKit
import Desktop
import Glibc
import Posix

/// `chatfs read`: prints a chat's messages and marks its arrivals as read.
enum ReadCommand {
    private static let chat = Argument(
        optional: "CHAT", .listed("chats"),
        "The chat's folder, your name for it, or its reference, such as @7.")
    private static let follow = Option.flag("follow", short: "f", "Continue with new messages until Ctrl-C.")
    private static let since = Option(
        "since", named: "TIME", .duration, "Only messages of the last TIME, such as 2h or 7d.")
    private static let all = Option.flag(
        "all", "Mark all messages in all chats as read, without printing them.")

    static let command = Command(
        "read", "Print the messages of a chat, and mark them as read.",
        discussion: """
            Each message is a line with its time and author; further lines of a text are indented. Edits and deletions \
            are lines of their own. With --json it prints the lines of the chat's log in .chatfs/messages. Of official \
            cores, only a phone has logs.

            Docks and 'chatfs chats' reset the unread count of the chat, and its notifications close. Others are not \
            notified. With --all the command prints no messages and resets the counts of all chats.
            """,
        section: CommandSection.daily, arguments: [chat],
        options: [follow, since, all, ProgramConnection.json, CommonOptions.mount],
        examples: [
            Example("chatfs read Alice --since 1d", "Print messages since yesterday."),
            Example("chatfs read 'Book club' --follow", "Print new messages as they arrive."),
            Example("chatfs read --all", "Mark all chats as read."),
        ],
        waitsForStop: true
    ) { invocation in
        let word = invocation[chat]
        guard (word == nil) == invocation[all] else { throw UsageError("name a chat, or --all") }
        let mounted = try await Mounted.chosen(by: invocation, argument: nil)
        let client = try await ProgramConnection.client(of: mounted)
        guard let word else {
            return try await ThreadPool.shared.run { () throws(any Error) in
                for chat in try client.chats() where chat.unread != nil {
                    try client.markRead(chat.chat)
                }
            }
        }
        let chat = try await ThreadPool.shared.run { () throws(any Error) in
            try NamedChats(try client.chats()).chat(word)
        }
        let start = invocation[since].map { SystemWallClock().now().advanced(by: .zero - $0) }
        let (follows, isForPrograms) = (invocation[follow], invocation[ProgramConnection.json])
        let stop = invocation.stop
        let done: Void? = try await stop.interrupting {
            try await ThreadPool.shared.run {
                let path = ChatLog.path(ofChat: chat.folder ?? chat.name, at: mounted.mountpoint)
                var log = ChatLog(path: path, start: start)
                while true {
                    for line in try log.next() { try show(line, isForPrograms) }
                    // Fails without notifications, because nothing is counted then.
                    try? client.markRead(chat.reference.description)
                    guard follows, !stop.isRequested, !Terminal.hasLostItsReader else { return }
                    while try !log.hasGrown(), !stop.isRequested, !Terminal.hasLostItsReader {
                        usleep(500_000)
                    }
                }
            }
        }
        guard done == nil else { return }
        throw ExitCode(128 + (await stop.wait()))
    }

    private static func show(_ line: ChatLog.Line, _ isForPrograms: Bool) throws {
        if isForPrograms { return try Terminal.show(line.text) }
        for words in line.message?.words ?? [] { try Terminal.show(PrintableText.escaping(words)) }
    }
}
