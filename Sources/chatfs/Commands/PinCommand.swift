import CommandLineKit

/// `chatfs pin`: keeps files local.
enum PinCommand {
    static let command = Command(
        "pin", "Receive files and keep them in the cache, across mounts.",
        discussion: """
            Receives the files in the background. The cache never evicts pinned files, even above its limits.
            """,
        section: CommandSection.daily, arguments: [CacheClient.paths],
        examples: [Example("chatfs pin ~/Chats/Alice/map.pdf", "Keep this file for a trip.")]
    ) { invocation in
        try await CacheClient.ask(.pin, invocation[CacheClient.paths], verb: "Pinning", past: "pinned")
    }
}
