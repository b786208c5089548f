import ChatCore
import CommandLineKit
import EmbeddedCore
import Posix

/// `chatfs connect`: makes two profiles of a data directory contacts.
enum ConnectCommand {
    private static let first = Argument("A", .text, "A profile.")
    private static let second = Argument("B", .text, "Another profile.")

    static let command = Command(
        "connect", "Make two profiles of this data directory contacts.", section: CommandSection.chats,
        arguments: [first, second], options: CommonOptions.directory,
        examples: [Example("chatfs connect alice bob", "Give alice a chat with bob, and bob one with alice.")]
    ) { invocation in
        let directory = try await invocation.dataDirectory()
        let (first, second) = (invocation[first], invocation[second])
        try await ThreadPool.shared.run { () throws(ChatError) in
            try directory.connect(first, second)
            try directory.recordFolders()
        }
    }
}
