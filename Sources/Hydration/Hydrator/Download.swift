/// A file that comes chunk by chunk: where it comes from, what is here, and how far the check of the whole
/// is.
final class Download: Sendable {
    let source: any ChunkSource
    let stream: CachedStream
    let pass: StoringPass
    /// The core fetches its durable copy itself: the pass only checks.
    let isReceivedByCore: Bool
    /// What is left of a damaged copy, a sentence.
    let remains: String?

    init(
        source: any ChunkSource, stream: CachedStream, pass: StoringPass, isReceivedByCore: Bool,
        remains: String?
    ) {
        self.isReceivedByCore = isReceivedByCore
        self.remains = remains
        self.source = source
        self.stream = stream
        self.pass = pass
    }

    deinit { pass.stop() }
}
