import CommandLineKit
import Glibc
import Posix

/// `chatfs retry`: retries a failed file.
enum RetryCommand {
    static let command = Command(
        "retry", "Send a file that failed, is unsure, may be unfinished, or was recovered.",
        discussion: """
            An entry is unsure when the connection to the SimpleX core broke while it was being sent and it \
            cannot be known whether the core has it. It is never sent again by itself: look into the chat \
            first. Sent again, the others may get it twice, so this command asks. A file whose message is \
            in the chat and whose upload failed goes out in a new message, and the old one is deleted, for \
            the others too: they could never read it. A file that is held back because it may be unfinished is \
            sent as it is; 'chatfs cancel' discards it. So is a file with a name of temporary files, and one in \
            .chatfs/recovered, which goes into the chat that it came from.
            """,
        section: CommandSection.daily,
        arguments: [Argument("PATH", .file, "The entry in the mounted chat folder.")],
        options: [.flag("yes", "Do not ask: it may arrive twice.")],
        examples: [Example("chatfs retry ~/Chats/Alice/report.pdf", "After a look into the chat.")]
    ) { invocation in
        let argument = invocation.argument("PATH")
        let path = await ThreadPool.shared.run { MountedEntry.place(argument) }
        let mayRepeat = invocation.has("yes")
        try await ThreadPool.shared.run { () throws(any Error) in
            if let problem = MountedEntry.all(at: path).problems.first { throw problem }
            let state = try naming(path) { try ExtendedAttribute.text("user.chatfs.state", of: path) }
            if state == "unsure", !mayRepeat {
                guard Question.canBeAsked else {
                    throw UsageError("there is no terminal to ask on; --yes answers the question beforehand")
                }
                let answer = Question.line("It may have been sent already. Send it (again)? [y/N] ")
                guard answer?.lowercased().hasPrefix("y") == true else { throw Refusal("Nothing was sent.") }
            }
            let refusal = Refusal(
                "\(path): Only entries that failed, are unsure, are held back, or were recovered from a chat that is "
                    + "still there are sent."
            )
            guard ["unsure", "failed", "draft", "recovered"].contains(state) else { throw refusal }
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
