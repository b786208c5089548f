import CommandLineKit
import Desktop

/// `chatfs hydrate`, `dehydrate`, `pin` and `unpin`: receive, evict and keep the bytes of files.
enum CacheCommands {
    static let hydrate = command(
        .hydrate, "Receive files completely and wait for the end.",
        """
        Downloads offered files, verifies them and keeps them encrypted in the data directory. Verifies local files \
        too. Afterwards reading needs no network.
        """, Example("chatfs hydrate ~/Chats/Alice", "Receive all files from Alice."),
        verb: "Receiving", past: "received")

    static let dehydrate = command(
        .dehydrate, "Remove cached bytes of files, without unmounting.",
        """
        Removes the blocks from the cache and the pages from the kernel. Received files stay encrypted in the data \
        directory. Open and pinned files are refused.
        """, Example("chatfs dehydrate ~/Chats/Alice/report.pdf", "One file."),
        verb: "Removing", past: "removed from the cache")

    static let pin = command(
        .pin, "Receive files and keep them in the cache, across mounts.",
        "Receives the files in the background. The cache never evicts pinned files, even above its limits.",
        Example("chatfs pin ~/Chats/Alice/map.pdf", "Keep this file for a trip."),
        verb: "Pinning", past: "pinned")

    static let unpin = command(
        .unpin, "Let the cache evict files again.", "Cached blocks stay until the cache needs their space.",
        Example("chatfs unpin ~/Chats/Alice", "Unpin all files of Alice."),
        verb: "Unpinning", past: "unpinned")

    private static func command(
        _ action: CacheRequest.Action, _ abstract: String, _ discussion: String, _ example: Example,
        verb: String, past: String
    ) -> Command {
        Command(
            action.rawValue, abstract, discussion: discussion, section: CommandSection.daily,
            arguments: [CacheClient.paths], examples: [example]
        ) { invocation in
            try await CacheClient.ask(action, invocation[CacheClient.paths], verb: verb, past: past)
        }
    }
}
