import CommandLineKit
import Desktop
import Posix
import SMP

/// `chatfs accept`: connects through a link, or accepts a request.
enum AcceptCommand {
    private static let link = Argument(
        "LINK", .text,
        "The link, or a number; - reads it from standard input, which keeps it out of the list of processes.")

    static let command = Command(
        "accept", "Accept a contact or group link, a request or an invitation.",
        discussion: """
            LINK is a one-time link of SimpleX Chat or 'chatfs pair', short or long, a contact address, the link of a \
            group, or the number of a request or an invitation ('chatfs requests'). The owner of an address must \
            accept the request. The command ends when the other side is connected. After an interruption it continues \
            the next time the profile is mounted or used. Repeating a link makes no second contact.
            """,
        section: CommandSection.chats, arguments: [link],
        options: ContactMeeting.options,
        examples: [
            Example("wl-paste | chatfs accept -", "A link from the clipboard."),
            Example("chatfs accept 3", "The request with this number."),
        ],
        waitsForStop: true
    ) { invocation in
        let argument = invocation[link]
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
                waiting = "The request was sent and must be accepted; Ctrl-C ends the waiting."
                unanswered =
                    "The request is not accepted yet; once it is, the next mount shows the contact."
            case .group:
                waiting = "The group was asked to let you in; Ctrl-C ends the waiting."
                unanswered =
                    "The group has not let you in yet; once it does, the next mount shows it."
            case .invitation, nil: break
            }
        }
    }
}
