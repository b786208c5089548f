import CommandLineKit

/// `chatfs hydrate`: receives files completely.
enum HydrateCommand {
    static let command = Command(
        "hydrate", "Receive files completely and wait for the end.",
        discussion: """
            Downloads offered files, verifies them and keeps them encrypted in the data directory. Verifies local files \
            too. Afterwards reading needs no network.
            """,
        section: CommandSection.daily, arguments: [CacheClient.paths],
        examples: [Example("chatfs hydrate ~/Chats/Alice", "Receive all files from Alice.")]
    ) { invocation in
        try await CacheClient.ask(
            .hydrate, invocation[CacheClient.paths], verb: "Receiving", past: "received")
    }
}
