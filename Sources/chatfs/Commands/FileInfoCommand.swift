import Base
import CommandLineKit
import XFTP

/// `chatfs file info`: what a description says, without asking a relay.
enum FileInfoCommand {
    static let command = Command(
        "info", "Show what a description or link leads to, without contacting a relay.",
        arguments: [DescriptionArgument.argument],
        examples: [Example("chatfs file info rcv1.xftp", "Size and relays of a file.")]
    ) { invocation in
        let description = try await DescriptionArgument.description(from: invocation)
        for line in lines(about: description) { Terminal.print(line) }
    }

    /// No key, no ID: fit for a screen that others see.
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
