import Base
import CommandLineKit
import Desktop
import Glibc
import Posix

/// `chatfs link remove`: deletes an upload, or forgets an added link.
enum LinkRemoveCommand {
    private static let entries = Argument(
        LinkClient.entry.name, .file, count: .oneOrMore, LinkClient.entry.help)

    static let command = Command(
        "remove", "Remove files from the folder Links.",
        discussion: """
            For your own upload, the relays delete the chunks and the link becomes invalid; copies of others stay. For \
            an added link, the link and the received file are deleted here only. Removing the file in the mounted \
            folder does the same.
            """,
        arguments: [entries], options: CommonOptions.access,
        examples: [Example("chatfs link remove ~/Chats/Links/film.mp4", "Delete the upload and its link.")]
    ) { invocation in
        for entry in invocation[entries] {
            if entry.utf8.contains(UInt8(ascii: "/")) {
                try await ThreadPool.shared.run { () throws(any Error) in
                    try naming(entry) {
                        // Only for the folder of links; removing elsewhere means something else.
                        _ = try LinkCopyCommand.requireLinks(entry)
                        _ = try check("remove it") { unlink(entry) }
                    }
                }
            } else {
                _ = try await LinkClient.carryOut(LinkRequest(.remove, name: entry), invocation)
            }
        }
    }
}
