import CommandLineKit

/// `chatfs hydrate`: receives files completely.
enum HydrateCommand {
    static let command = Command(
        "hydrate", "Receive files to their end and wait for it.",
        discussion: """
            What is only offered is downloaded, checked as a whole and kept encrypted in the data folder; what is \
            kept already is checked. Then reading it needs no network.
            """,
        section: CommandSection.daily,
        arguments: [CacheClient.paths],
        examples: [Example("chatfs hydrate ~/Chats/Alice", "Everything that Alice has sent.")]
    ) { invocation in
        try await CacheClient.ask(
            .hydrate, invocation.allArguments("PATH"), verb: "Receiving", past: "received")
    }
}
