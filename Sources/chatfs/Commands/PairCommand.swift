import CommandLineKit
import Desktop

/// `chatfs pair`: creates a one-time link for one contact.
enum PairCommand {
    static let command = Command(
        "pair", "Show a one-time link for a new contact, and wait for its use.",
        discussion: """
            Keep the link and its code secret until they are used. The other person opens the link in SimpleX Chat, or \
            with 'chatfs accept'. The command ends when both are connected. After an interruption the link stays \
            usable, and the contact appears when the profile is next mounted or used.
            """,
        section: CommandSection.chats, options: LinkDisplay.options + ContactMeeting.options,
        examples: [
            Example("chatfs pair --profile alice --server smp://…@relay.example", "The first time."),
            Example("chatfs pair --png code.png", "Also write a picture of the code."),
        ],
        waitsForStop: true
    ) { invocation in
        let display = try LinkDisplay(invocation)
        let meeting = try await ContactMeeting(invocation)
        let met = try await invocation.stop.interrupting {
            try await meeting.meet(.invite) { answer in
                if let warning = meeting.warning { Terminal.note(warning) }
                try await display.show(answer.link ?? "")
                Terminal.note("Waiting until the link is used; Ctrl-C stops waiting.")
            }
        }
        guard let met else {
            Terminal.complain("chatfs: No connection yet; the link stays usable.")
            throw ExitCode(128 + (await invocation.stop.wait()))
        }
        ContactMeeting.tell(met)
    }
}
