import Base
import CommandLineKit
import Links
import XFTP

/// `chatfs file info`: prints a description without contacting a relay.
enum FileInfoCommand {
    static let command = Command(
        "info", "Show facts about a description or link, without contacting a relay.",
        arguments: [DescriptionArgument.argument],
        examples: [
            Example("chatfs file info rcv1.xftp", "Print the size and relays of a file."),
            Example(
                "chatfs file info - < link.txt", "Print name, size and expiry too, for a link of ChatFS."),
        ]
    ) { invocation in
        let link = try await DescriptionArgument.describedLink(from: invocation)
        for line in lines(about: LinkFacts(link.data)) + lines(about: link.fileDescription) {
            Terminal.print(PrintableText.escaping(line))
        }
    }

    /// Returns the facts that the sender put into the link.
    private static func lines(about facts: LinkFacts) -> [String] {
        [
            facts.name.map { "Name: \($0)" }, facts.size.map { "Size: \(size($0))" },
            facts.expires.map { "Expires: \($0.text)" },
        ].compactMap(\.self)
    }

    /// Omits keys and ids, because others may see the screen.
    private static func lines(about description: FileDescription) -> [String] {
        var lines = ["For: \(description.party.rawValue)"]
        if let redirect = description.redirect {
            lines.append("Encrypted size: \(size(redirect.size))")
            lines.append("Leads to the description of the file.")
        } else {
            lines.append("Encrypted size: \(size(description.size))")
        }
        lines.append("Chunks: \(description.chunks.count)")
        for relay in description.relays {
            let count = description.chunks.count { chunk in chunk.replicas.contains { $0.relay == relay } }
            lines.append("Relay: \(relay.text) (\(count == 1 ? "1 chunk" : "\(count) chunks"))")
        }
        return lines
    }

    private static func size(_ bytes: UInt64) -> String {
        "\(ByteCount.rounded(bytes)) (\(bytes) bytes)"
    }
}
