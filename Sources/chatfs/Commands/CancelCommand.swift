import CommandLineKit
import Glibc
import Posix

/// `chatfs cancel`: cancels transfers.
enum CancelCommand {
    static let command = Command(
        "cancel", "Cancel receiving or sending files.",
        discussion: """
            A file that is being received is offered as before, and programs that wait for it get an error. Of one that \
            is being sent, or was, the chunks are deleted from the relay, and recipients who do not have it yet are \
            notified; its message stays. A file that has not been handed over yet, also one \
            that is held back because it may be unfinished, is removed.
            """,
        section: CommandSection.daily,
        arguments: [Argument("PATH", .file, count: .oneOrMore, "Files on a mount.")],
        examples: [Example("chatfs cancel ~/Chats/Alice/film.mp4", "Not now.")]
    ) { invocation in
        let paths = invocation.allArguments("PATH")
        for path in paths {
            let isFolder = await ThreadPool.shared.run {
                var status = stat()
                return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
            }
            if isFolder { throw UsageError("'\(path)' is a folder; name the files") }
        }
        try await CacheClient.ask(.cancel, paths, verb: "Cancelling", past: "cancelled")
    }
}
