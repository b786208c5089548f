import Base
import CommandLineKit
import Desktop
import Posix

/// `chatfs link add`: creates a placeholder for a link's file.
enum LinkAddCommand {
    static let command = Command(
        "add", "Add the file of a link to the folder Links; it is received when it is read.",
        discussion: """
            LINK is a simplex:/file# link, the same under https://simplex.chat, or a web link of a relay. Links of \
            ChatFS say the name and the size of their file. Where a link does not, or leads to a description that \
            lies on a relay, this command fetches that: the description, and the first chunk for the name. It asks \
            only relays that you configured or approved, or approve with --approve; looking at the folder later \
            fetches nothing.

            Prints the name of the file. The same link again changes nothing.
            """,
        arguments: [
            Argument(
                "LINK", .text,
                "The link, or - to read it from standard input, which keeps it out of the list of processes.")
        ],
        options: [
            .value("name", named: "NAME", .text, "Another name than the sender's."),
            .flag(
                "approve",
                "Let files be received from the relays of this link: they see your network address. Those inside "
                    + "your own network need 'chatfs approve'."),
        ] + CommonOptions.access,
        examples: [
            Example("chatfs link add - < link.txt", "A link that nobody sees."),
            Example("chatfs link add 'https://relay.example/#…' --approve", "From a relay not used before."),
        ]
    ) { invocation in
        let link = try await DescriptionArgument.link(from: invocation)
        let request = LinkRequest(
            .add, link: link, name: invocation["name"], approves: invocation.has("approve"))
        for added in try await LinkClient.carryOut(request, invocation) {
            Terminal.print(PrintableText.escaping(added.name))
        }
    }
}
