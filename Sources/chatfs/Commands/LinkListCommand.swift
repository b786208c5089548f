import Base
import CommandLineKit
import Desktop

/// `chatfs link list`: lists the folder of links.
enum LinkListCommand {
    static let command = Command(
        "list", "List the files of the folder Links, without their links.",
        options: [ProgramConnection.json] + CommonOptions.access,
        examples: [Example("chatfs link list", "Print names, sizes and expiry dates.")]
    ) { invocation in
        let isForPrograms = invocation[ProgramConnection.json]
        let now = SystemWallClock().now()
        for link in try await LinkClient.carryOut(LinkRequest(.list), invocation) {
            Terminal.print(isForPrograms ? try ProgramConnection.json(link) : line(link, at: now))
        }
    }

    /// Formats kind, size, expiry, name and problem of a link.
    static func line(_ link: LinkDescription, at now: Timestamp) -> String {
        let end = link.expires.map { seconds in
            let end = Timestamp(seconds: seconds)
            return (end > now ? "until " : "expired ") + end.text
        }
        let fields = [
            kind(link).padding(to: 11), ByteCount.rounded(link.size).padding(to: 9),
            (end ?? "").padding(to: 31), link.name,
        ]
        let line = fields.joined(separator: "  ") + (link.problem.map { " (\($0))" } ?? "")
        return PrintableText.escaping(line)
    }

    private static func kind(_ link: LinkDescription) -> String {
        switch link.state {
        case .uploading: "no link yet"
        case .uploaded: "uploaded"
        case .failed: "failed"
        case .cancelled: "cancelled"
        case .added: "added"
        case .lost: "lost"
        case nil: link.isAdded ? "added" : link.hasLink ? "uploaded" : "no link yet"
        }
    }
}

extension String {
    fileprivate func padding(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }
}
