import Base
import ChatCore
import CommandLineKit
import EmbeddedCore
import Posix

/// `chatfs chat`: settings of a contact, a group or the notes.
enum ChatCommand {
    static let command = Command(
        "chat", "Set how long messages of a chat stay.", section: CommandSection.chats, subcommands: [ttl])

    private static let ttl = Command(
        "ttl", "Set or show after which time messages of a chat disappear.",
        discussion: """
            Of messages that are sent from then on, by anybody in the chat: each is deleted with its file when its time is \
            over, here and for the others, and from the relays, and its words are taken out of the chat's log. What was sent \
            before keeps its time. Where nothing is mounted at that moment, the next process that has the profile deletes it \
            first. Without TIME the time is printed.

            A contact on the network is notified, and may set another time; for one who does not allow it the command fails. \
            In a group on the network its owners set it.
            """,
        arguments: [
            Argument(
                "CHAT", .listed("chats"), "A contact, a group or Saved notes, by its name or reference."),
            Argument("TIME", .text, count: .optional, "Such as 1h, 7d; off: messages stay."),
        ],
        options: [CommonOptions.profile, CommonOptions.mount] + CommonOptions.directory,
        examples: [
            Example("chatfs chat ttl Bob 7d", "A week."), Example("chatfs chat ttl Bob off", "For good."),
        ]
    ) { invocation in
        let directory = try await invocation.dataDirectory()
        let (name, text) = (invocation.argument("CHAT"), invocation.optionalArgument("TIME"))
        let time = try text.map(Self.time)
        let shown = try await ThreadPool.shared.run { () throws(ChatError) -> Duration?? in
            let profile = try directory.profile(named: invocation["profile"])
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
    private static func time(_ text: String) throws(UsageError) -> Duration? {
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
