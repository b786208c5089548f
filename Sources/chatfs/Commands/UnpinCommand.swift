import CommandLineKit

/// `chatfs unpin`: the inverse of pin.
enum UnpinCommand {
    static let command = Command(
        "unpin", "Let the cache evict files again.",
        discussion: """
            What is at hand stays until its space is needed.
            """,
        section: CommandSection.daily,
        arguments: [CacheClient.paths],
        examples: [Example("chatfs unpin ~/Chats/Alice", "Everything of Alice.")]
    ) { invocation in
        try await CacheClient.ask(
            .unpin, invocation.allArguments("PATH"), verb: "Unpinning", past: "unpinned")
    }
}
