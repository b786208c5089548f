import CommandLineKit
import FileSystem
import Glibc
import Posix

/// `chatfs retry`: retries a failed file.
enum RetryCommand {
    private static let path = Argument("PATH", .file, "The entry in the mounted chat folder.")
    private static let yes = Option.flag("yes", "Do not ask, although the file may arrive twice.")

    static let command = Command(
        "retry", "Send a failed, unsure, held back or recovered file.",
        discussion: """
            An entry is unsure if the connection to the SimpleX core broke during sending: the core may or may not \
            have accepted the file. ChatFS does not resend it automatically. Look into the chat first: resending may \
            deliver the file twice, so this command asks. A failed upload is repeated in a new message, and the old \
            message, which no recipient could read, is deleted for all. A file that is held back because it may be \
            unfinished, or because of its temporary name, is sent as it is; 'chatfs cancel' discards it. A file in \
            .chatfs/recovered is sent into its original chat.
            """,
        section: CommandSection.daily, arguments: [path], options: [yes],
        examples: [Example("chatfs retry ~/Chats/Alice/report.pdf", "Resend after a look into the chat.")]
    ) { invocation in
        let argument = invocation[path]
        let path = await ThreadPool.shared.run { MountedEntry.place(argument) }
        let mayRepeat = invocation[yes]
        try await ThreadPool.shared.run { () throws(any Error) in
            if let problem = MountedEntry.all(at: path).problems.first { throw problem }
            let state = try naming(path) { try ExtendedAttribute.text("user.chatfs.state", of: path) }
            if state == "unsure", !mayRepeat {
                guard Question.canBeAsked else {
                    throw UsageError("there is no terminal for the question; answer it with --yes")
                }
                let answer = Question.line("It may have been sent already. Send it (again)? [y/N] ")
                guard answer?.lowercased().hasPrefix("y") == true else { throw Refusal("Nothing was sent.") }
            }
            let refusal = Refusal(
                "\(path): Only failed, unsure and held back entries, and entries recovered from an existing chat, can be "
                    + "resent."
            )
            guard state.flatMap(EntryState.init)?.canBeSentAgain == true else { throw refusal }
            do throws(SystemError) {
                try ExtendedAttribute.set("user.chatfs.retry", to: [UInt8(ascii: "1")], of: path)
            } catch  where ["draft", "recovered"].contains(state) && error.code == EPERM {
                throw refusal
            } catch {
                throw PathError(path, error)
            }
        }
    }
}

extension EntryState {
    fileprivate var canBeSentAgain: Bool {
        switch self {
        case .draft, .unsure, .failed, .recovered: true
        case .remote, .receiving, .stored, .hydrated, .queued, .sending, .sent, .delivered, .expired,
            .cancelled, .blocked:
            false
        }
    }
}
