import CommandLineKit

/// `chatfs pin`: keeps files local.
enum PinCommand {
    static let command = Command(
        "pin", "Receive files and keep them at hand, across mounts.",
        discussion: """
            They are received in the background, and no limit of the cache evicts them, until they are unpinned.
            """,
        section: CommandSection.daily,
        arguments: [CacheClient.paths],
        examples: [Example("chatfs pin ~/Chats/Alice/map.pdf", "For the train.")]
    ) { invocation in
        try await CacheClient.ask(.pin, invocation.allArguments("PATH"), verb: "Pinning", past: "pinned")
    }
}
