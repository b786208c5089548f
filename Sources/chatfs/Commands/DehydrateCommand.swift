import CommandLineKit

/// `chatfs dehydrate`: evicts the cached bytes of files.
enum DehydrateCommand {
    static let command = Command(
        "dehydrate", "Remove cached bytes of files, without unmounting.",
        discussion: """
            Removes the blocks from the cache and the pages from the kernel. Received files stay encrypted in the data \
            directory. Open and pinned files are refused.
            """,
        section: CommandSection.daily, arguments: [CacheClient.paths],
        examples: [Example("chatfs dehydrate ~/Chats/Alice/report.pdf", "One file.")]
    ) { invocation in
        try await CacheClient.ask(
            .dehydrate, invocation[CacheClient.paths], verb: "Removing", past: "removed from the cache")
    }
}
