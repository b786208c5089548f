import CommandLineKit
import Desktop

/// `chatfs pair`: creates a one-time link for one contact.
enum PairCommand {
    static let command = Command(
        "pair", "Show a link by which one person becomes your contact, and wait for them.",
        discussion: """
            The link is a secret until it was used: show it, or the code, to nobody else. The other one opens it \
            in SimpleX Chat, or with 'chatfs accept'. The command ends when they are connected; interrupted, \
            the link stays usable, and the contact appears the next time the profile is mounted or used.
            """,
        section: CommandSection.chats,
        options: LinkDisplay.options + ContactMeeting.options,
        examples: [
            Example("chatfs pair --profile alice --server smp://…@relay.example", "The first time."),
            Example("chatfs pair --png code.png", "With a picture of the code."),
        ],
        waitsForStop: true
    ) { invocation in
        let display = try LinkDisplay(invocation)
        let meeting = try await ContactMeeting(invocation)
        let met = try await invocation.stop.interrupting {
            try await meeting.meet(.invite) { answer in
                if let warning = meeting.warning { Terminal.note(warning) }
                try await display.show(answer.link ?? "")
                Terminal.note("Waiting until somebody uses this link; Ctrl-C ends the waiting.")
            }
        }
        guard let met else {
            Terminal.complain("chatfs: Nobody has connected yet; the link stays usable.")
            throw ExitCode(128 + (await invocation.stop.wait()))
        }
        ContactMeeting.tell(met)
    }
}
