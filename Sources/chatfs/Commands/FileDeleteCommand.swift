import Base
import CommandLineKit
import Posix
import XFTP

/// `chatfs file delete`: takes a sent file back from the relays.
enum FileDeleteCommand {
    private static let argument = Argument(
        "DESCRIPTION", .file, "The sender's own, snd.xftp.private, or - to read it from standard input.")

    static let command = Command(
        "delete", "Delete a sent file from its relays.",
        discussion: "Nobody can receive the file afterwards. What was received stays where it is.",
        arguments: [argument],
        examples: [Example("chatfs file delete film.mp4.xftp/snd.xftp.private", "Take the film back.")],
        waitsForStop: true
    ) { invocation in
        let description = try await FileCommand.description(from: invocation, argument: argument)
        let client = FileCommand.client()
        try await FileCommand.stoppable(invocation, advice: "Some chunks may still be there.") {
            try await FileDeletion.run(description, client: client)
        }
        client.close()
        let count = description.chunks.count
        Terminal.print(count == 1 ? "Deleted 1 chunk." : "Deleted \(count) chunks.")
    }
}
