import CommandLineKit

/// `chatfs unpin`: the inverse of pin.
enum UnpinCommand {
    static let command = Command(
        "unpin", "Let the cache evict files again.",
        discussion: """
            Cached blocks stay until the cache needs their space.
            """,
        section: CommandSection.daily, arguments: [CacheClient.paths],
        examples: [Example("chatfs unpin ~/Chats/Alice", "Unpin all files of Alice.")]
    ) { invocation in
        try await CacheClient.ask(
            .unpin, invocation[CacheClient.paths], verb: "Unpinning", past: "unpinned")
    }
}
