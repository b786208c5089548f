import Base
import CommandLineKit
import Desktop
import Posix

/// `chatfs link add`: creates a placeholder for a link's file.
enum LinkAddCommand {
    private static let link = Argument(
        "LINK", .text,
        "The link, or - to read it from standard input, which keeps it out of the list of processes.")
    private static let name = Option("name", named: "NAME", .text, "Name of the file; default the sender's.")
    private static let approve = Option.flag(
        "approve",
        "Approve the relays of this link, which see your network address. Relays inside "
            + "your own network need 'chatfs approve'.")

    static let command = Command(
        "add", "Add the file of a link to the folder Links; reading it there receives it.",
        discussion: """
            LINK is a simplex:/file# link, the same under https://simplex.chat, or a web link of a relay. Links of \
            ChatFS contain the name and the size of their file. For other links this command fetches the description \
            from a relay, if needed, and the first chunk for the name. It contacts only relays that you configured or \
            approved, or approve with --approve. Listing the folder later fetches nothing.

            Prints the name of the file. Adding a link again changes nothing.
            """,
        arguments: [link], options: [name, approve] + CommonOptions.access,
        examples: [
            Example("chatfs link add - < link.txt", "Keep the link out of the list of processes."),
            Example("chatfs link add 'https://relay.example/#…' --approve", "Also approve its relay."),
        ]
    ) { invocation in
        let link = try await DescriptionArgument.link(givenAs: invocation[link])
        let request = LinkRequest(
            .add, link: link, name: invocation[name], approves: invocation[approve])
        for added in try await LinkClient.carryOut(request, invocation) {
            Terminal.print(PrintableText.escaping(added.name))
        }
    }
}
