import CommandLineKit
import Desktop
import Posix

/// `chatfs accept`: becoming the contact of whose link it is.
enum AcceptCommand {
    static let command = Command(
        "accept", "Become the contact of whose link you have.",
        discussion: """
            A one-time link of SimpleX Chat or 'chatfs pair', short or long, or somebody's address. The command \
            ends when the other one is connected; interrupted, it goes on the next time the profile is mounted or \
            used. The same link again is the same contact.
            """,
        section: ChatFS.Section.chats,
        arguments: [
            Argument(
                "LINK", .text,
                "The link; - reads it from standard input, so that nobody sees it among the processes.")
        ],
        options: ContactMeeting.options,
        examples: [Example("wl-paste | chatfs accept -", "A link from the clipboard.")],
        waitsForStop: true
    ) { invocation in
        let argument = invocation.argument("LINK")
        let link = argument == "-" ? await ThreadPool.shared.run { readLine() } ?? "" : argument
        let meeting = try await ContactMeeting(invocation)
        let name = try await invocation.stop.interrupting {
            try await meeting.meet(.accept(link)) { _ in
                Terminal.note("Waiting for the other side; Ctrl-C ends the waiting.")
            }
        }
        guard let name else {
            Terminal.complain("chatfs: The other side has not answered yet; it goes on with the next mount.")
            throw ExitCode(128 + (await invocation.stop.wait()))
        }
        ContactMeeting.tell(name)
    }
}
