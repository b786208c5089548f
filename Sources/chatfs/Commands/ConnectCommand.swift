import ChatCore
import CommandLineKit
import EmbeddedCore
import Posix

/// `chatfs connect`: makes two profiles of a data directory contacts.
enum ConnectCommand {
    static let command = Command(
        "connect", "Make two profiles of this data directory contacts.", section: CommandSection.chats,
        arguments: [Argument("A", .text, "A profile."), Argument("B", .text, "Another profile.")],
        options: CommonOptions.directory,
        examples: [Example("chatfs connect alice bob", "Give alice a chat with bob, and bob one with alice.")]
    ) { invocation in
        let directory = try await invocation.dataDirectory()
        let (first, second) = (invocation.argument("A"), invocation.argument("B"))
        try await ThreadPool.shared.run { () throws(ChatError) in
            try directory.connect(first, second)
            try directory.recordFolders()
        }
    }
}
