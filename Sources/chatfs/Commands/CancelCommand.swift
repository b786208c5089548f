import CommandLineKit
import Glibc
import Posix

/// `chatfs cancel`: cancels transfers.
enum CancelCommand {
    private static let paths = Argument("PATH", .file, count: .oneOrMore, "Files on a mount.")

    static let command = Command(
        "cancel", "Cancel receiving or sending files.",
        discussion: """
            A cancelled download becomes an offer again, and programs that wait for it get an error. For a file that \
            is being sent or was sent, the relay deletes the chunks, and recipients who do not have it yet are \
            notified; its message stays. A file that is still queued, or held back because it may be unfinished, is \
            removed.
            """,
        section: CommandSection.daily, arguments: [paths],
        examples: [Example("chatfs cancel ~/Chats/Alice/film.mp4", "Stop this transfer.")]
    ) { invocation in
        let paths = invocation[paths]
        for path in paths {
            let isFolder = await ThreadPool.shared.run {
                var status = stat()
                return stat(MountedEntry.place(path), &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
            }
            if isFolder { throw UsageError("'\(path)' is a folder; name the files") }
        }
        try await CacheClient.ask(.cancel, paths, verb: "Cancelling", past: "cancelled")
    }
}
