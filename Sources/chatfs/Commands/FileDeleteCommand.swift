import Base
import CommandLineKit
import Desktop
import Glibc
import Posix
import XFTP

/// `chatfs file delete`: deletes a sent file from its relays.
enum FileDeleteCommand {
    private static let argument = Argument(
        "DESCRIPTION", .file,
        "The sender's description, snd.xftp.private, or - to read it from standard input; with --profile or --core "
            + "the number that 'file send' printed.")

    static let command = Command(
        "delete", "Delete a sent file from its relays.",
        discussion: """
            The file can no longer be received. Received copies stay. For the link of a large file, link.xftp.private \
            beside snd.xftp.private deletes the description on the relays too.
            """,
        arguments: [argument], options: CommonOptions.access,
        examples: [Example("chatfs file delete film.mp4.xftp/snd.xftp.private", "Delete the uploaded film.")],
        waitsForStop: true
    ) { invocation in
        if let access = try ProfileAccess(ifNamedBy: invocation) {
            guard let file = Int64(invocation[argument]) else {
                throw UsageError("--profile and --core take the number that 'file send' printed")
            }
            _ = try await StandaloneClient(access: access, invocation: invocation)
                .carryOut(.cancel(file), title: "Deleting")
            return
        }
        let description = try await DescriptionArgument.description(from: invocation, argument: argument)
        let link = try await link(beside: invocation[argument])
        let client = CommandTransfer.client()
        try await CommandTransfer.stoppable(invocation, advice: "Some chunks may remain on the relays.") {
            try await FileDeletion.run(description, client: client)
            if let link { try await FileDeletion.run(link, client: client) }
        }
        client.close()
        let count = description.chunks.count + (link?.chunks.count ?? 0)
        Terminal.print(count == 1 ? "Deleted 1 chunk." : "Deleted \(count) chunks.")
    }

    /// Names that 'file send' gives to the descriptions that delete the file and its link's target.
    static let senderName = "snd.xftp.private"
    static let linkName = "link.xftp.private"

    /// Returns nil if there is none.
    private static func link(beside path: String) async throws -> FileDescription? {
        guard path == senderName || path.endsWithBytes(of: "/" + senderName) else { return nil }
        let linkPath = String(decoding: path.utf8.dropLast(senderName.utf8.count), as: UTF8.self) + linkName
        let text = try await ThreadPool.shared.run { () throws(SystemError) -> String? in
            guard let file = try OpenFile.existing(linkPath, flags: O_RDONLY) else { return nil }
            return String(decoding: try file.readAll(limit: 1 << 20), as: UTF8.self)
        }
        guard let text else { return nil }
        return try await FileDescription.parse(text)
    }
}
