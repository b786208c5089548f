import Base
import ChatCore
import CommandLineKit
import EmbeddedCore
import Posix

/// `chatfs chat`: settings of a contact, a group or the notes.
enum ChatCommand {
    private static let chat = Argument(
        "CHAT", .listed("chats"), "A contact, a group or Saved notes, by its name or reference.")
    private static let time = Argument(
        optional: "TIME", .text, "A lifetime such as 1h or 7d; off to keep messages.")

    static let command = Command(
        "chat", "Set how long the messages of a chat stay.", section: CommandSection.chats, subcommands: [ttl]
    )

    private static let ttl = Command(
        "ttl", "Set or show the lifetime of messages in a chat.",
        discussion: """
            Applies to messages that any member of the chat sends from now on. When its time is over, a message is \
            deleted with its file, here, for the others and from the relays, and its text leaves the chat's log. \
            Earlier messages keep their time. If the profile is not mounted at that moment, the next process that \
            opens the profile deletes it first. Without TIME the time is printed.

            A contact on the network is notified, and may set another time. The command fails for a contact who does \
            not allow it. In a group on the network only owners can set the time.
            """,
        arguments: [chat, time], options: CommonOptions.ofProfile,
        examples: [
            Example("chatfs chat ttl Bob 7d", "Delete messages after a week."),
            Example("chatfs chat ttl Bob off", "Keep messages."),
        ]
    ) { invocation in
        let directory = try await invocation.dataDirectory()
        let (name, time) = (invocation[chat], try invocation[time].map(parsed))
        let shown = try await ThreadPool.shared.run { () throws(ChatError) -> Duration?? in
            let profile = try directory.profile(named: invocation[CommonOptions.profile])
            let chat = try directory.namedChats(of: profile).chat(name).reference
            if let time {
                try directory.setTimeToLive(time, in: chat, of: profile)
                return nil
            }
            return .some(try directory.timeToLive(in: chat, of: profile))
        }
        if let shown { Terminal.print(Self.words(shown)) }
    }

    /// Returns nil for `off`.
    private static func parsed(_ text: String) throws(UsageError) -> Duration? {
        if text == "off" { return nil }
        guard let time = DurationText.parse(text), time > .zero else {
            throw UsageError("expected a time such as 1h or 7d, or off")
        }
        return time
    }

    private static func words(_ time: Duration?) -> String {
        guard let seconds = time?.components.seconds else { return "off" }
        for (unit, length) in [("d", Int64(86_400)), ("h", 3_600), ("m", 60)] where seconds % length == 0 {
            return "\(seconds / length)\(unit)"
        }
        return "\(seconds)s"
    }
}
