import CommandLineKit
import Desktop
import Posix
import SMP

/// `chatfs accept`: connects through a link, or accepts a request.
enum AcceptCommand {
    static let command = Command(
        "accept", "Accept a contact or group link, or a request or invitation that waits for you.",
        discussion: """
            LINK is a one-time link of SimpleX Chat or 'chatfs pair', short or long; somebody's address, where it is a \
            request that they have to accept; the link of a group; or the number of a request or an invitation \
            ('chatfs requests'). The command \
            ends when the other one is connected; interrupted, it continues the next time the profile is mounted or \
            used. The same link again is the same contact.
            """,
        section: CommandSection.chats,
        arguments: [
            Argument(
                "LINK", .text,
                "The link, or a number; - reads it from standard input, so that nobody sees it among the processes."
            )
        ],
        options: ContactMeeting.options,
        examples: [
            Example("wl-paste | chatfs accept -", "A link from the clipboard."),
            Example("chatfs accept 3", "The request with this number."),
        ],
        waitsForStop: true
    ) { invocation in
        let argument = invocation.argument("LINK")
        let text = argument == "-" ? await ThreadPool.shared.run { readLine() } ?? "" : argument
        try GivenLink.require([.person], text)
        let order = Order(text)
        let meeting = try await ContactMeeting(invocation)
        let met = try await invocation.stop.interrupting {
            try await meeting.meet(order.request) { _ in Terminal.note(order.waiting) }
        }
        guard let met else {
            Terminal.complain("chatfs: \(order.unanswered)")
            throw ExitCode(128 + (await invocation.stop.wait()))
        }
        ContactMeeting.tell(met)
    }

    /// The parsed command line.
    private struct Order: Sendable {
        var request: ContactRequest
        var waiting = "Waiting for the other side; Ctrl-C ends the waiting."
        var unanswered = "The other side has not answered yet; the next mount continues."

        init(_ text: String) {
            if let number = Int64(text) {
                request = .acceptRequest(number)
                return
            }
            request = .accept(text)
            // Accepting reports an invalid link.
            switch try? LinkKind(link: text) {
            case .address:
                waiting = "They were asked, and have to accept you; Ctrl-C ends the waiting."
                unanswered =
                    "They have not accepted yet; when they do, the contact is there with the next mount."
            case .group:
                waiting = "The group was asked to let you in; Ctrl-C ends the waiting."
                unanswered =
                    "The group has not let you in yet; when it does, it is there with the next mount."
            case .invitation, nil: break
            }
        }
    }
}
