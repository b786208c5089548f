import XFTP

/// One attempt to download a file chunk by chunk: its source and its chunks. Results of other attempts are told
/// apart by object identity.
final class Download: Sendable {
    let source: any ChunkSource
    let store: ChunkStore
    /// A sentence about usable parts of a damaged copy.
    let remains: String?

    init(source: any ChunkSource, store: ChunkStore, remains: String?) {
        self.remains = remains
        self.source = source
        self.store = store
    }

    var layout: ChunkLayout { store.layout }
}
