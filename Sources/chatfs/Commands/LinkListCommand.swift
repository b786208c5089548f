import Base
import CommandLineKit
import Desktop

/// `chatfs link list`: what is in the folder of links.
enum LinkListCommand {
    static let command = Command(
        "list", "List the files of the folder Links, without their links.",
        options: [ProgramAsking.json] + CommonOptions.access,
        examples: [Example("chatfs link list", "Names, sizes, and until when relays keep the files.")]
    ) { invocation in
        let isForPrograms = invocation.has("json")
        for link in try await LinkAsking.carryOut(LinkRequest(.list), invocation) {
            Terminal.print(isForPrograms ? try ProgramAsking.json(link) : line(link))
        }
    }

    private static func line(_ link: LinkDescription) -> String {
        let kind = link.isAdded ? "added" : link.hasLink ? "uploaded" : "no link yet"
        let end = link.expires.map { "until " + Timestamp(seconds: $0).text }
        let fields = [
            kind.padding(to: 11), ByteCount.rounded(link.size).padding(to: 9), (end ?? "").padding(to: 26),
            link.name,
        ]
        let line = fields.joined(separator: "  ") + (link.problem.map { " (\($0))" } ?? "")
        return PrintableText.escaping(line)
    }
}

extension String {
    fileprivate func padding(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }
}
