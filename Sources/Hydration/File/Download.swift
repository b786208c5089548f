/// One attempt to download a file chunk by chunk: source, chunk storage and pipeline. Results of other
/// attempts are told apart by object identity.
final class Download: Sendable {
    let source: any ChunkSource
    let stream: CachedStream
    let pipeline: StoragePipeline
    /// A sentence about usable parts of a damaged copy.
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
