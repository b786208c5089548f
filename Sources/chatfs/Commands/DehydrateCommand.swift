import CommandLineKit

/// `chatfs dehydrate`: evicts the decrypted blocks of files.
enum DehydrateCommand {
    static let command = Command(
        "dehydrate", "Remove what is decrypted of files, without unmounting.",
        discussion: """
            The blocks in the cache and the pages of the kernel go; what was received stays, encrypted, in the \
            data folder. What is open or pinned is refused.
            """,
        section: CommandSection.daily,
        arguments: [CacheClient.paths],
        examples: [Example("chatfs dehydrate ~/Chats/Alice/report.pdf", "One file.")]
    ) { invocation in
        try await CacheClient.ask(
            .dehydrate, invocation.allArguments("PATH"), verb: "Removing", past: "removed from the cache")
    }
}
