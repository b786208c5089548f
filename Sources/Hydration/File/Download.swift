/// A file that comes chunk by chunk: where it comes from, where its chunks are kept, and how they become the
/// CryptoFile that is stored. Known by its identity: what is said of an earlier attempt is not said of this one.
final class Download: Sendable {
    let source: any ChunkSource
    let stream: CachedStream
    let pipeline: StoragePipeline
    /// What is left of a damaged copy, a sentence.
    let remains: String?

    init(source: any ChunkSource, stream: CachedStream, pipeline: StoragePipeline, remains: String?) {
        self.remains = remains
        self.source = source
        self.stream = stream
        self.pipeline = pipeline
    }

    deinit { pipeline.stop() }

    var layout: ChunkLayout { stream.layout }
}
