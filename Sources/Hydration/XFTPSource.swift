import Base
import ChatCore
import Posix
import XFTP

/// The chunks of a claimed file on XFTP relays.
struct XFTPSource: ChunkSource {
    var chunks: [ChunkPlace] { reader.description.places }
    var arguments: FileArguments {
        FileArguments(key: reader.description.key, nonce: reader.description.nonce)
    }
    private let reader: ChunkwiseReader

    /// Parses the description; blocks. Rejects redirects to another description, whose relays were not
    /// approved.
    init(_ claim: ClaimedFile, client: XFTPClient) throws {
        reader = try ChunkwiseReader(FileDescription(parsing: claim.description), client: client)
    }

    func fetch(
        _ chunk: Int, progress: @escaping @Sendable (_ received: UInt64) -> Void
    ) async throws -> any FetchedChunk {
        let fetched = reader.buffer(for: chunk)
        try await reader.fetchEncrypted(
            chunk: chunk, into: fetched.buffer, retry: Self.retryPolicy,
            counter: ProgressSteps(progress).count)
        return fetched
    }

    func read(_ chunk: Int, from file: OpenFile) throws(SystemError) -> (any FetchedChunk)? {
        let found = reader.buffer(for: chunk)
        return try reader.read(chunk: chunk, from: file, into: found.buffer) ? found : nil
    }

    /// Reports a relay that refuses connections after 4 to 5 s. The hydrator retries later.
    private static let retryPolicy = RetryPolicy(first: .milliseconds(200), maxDelay: .seconds(2), tries: 6)
}

extension BufferedChunk: FetchedChunk {
    public var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(buffer.bytes) }
}

extension Hydrator {
    /// Creates the program's hydrator, which downloads over XFTP. The client limits its fetches, together with those of
    /// other downloads.
    /// - Throws: `cache` if the folder cannot be emptied.
    public convenience init(
        core: any FileTransferring, client: XFTPClient, cacheFolder: PrivateFolder,
        settings: HydrationSettings = HydrationSettings(), retention: RetentionList? = nil
    ) throws(HydrationError) {
        var settings = settings
        settings.fetching = client.settings.fetching
        try self.init(
            core: core, cacheFolder: cacheFolder, settings: settings, retention: retention,
            transfers: client.transfers
        ) { claim in
            try await ThreadPool.shared.run { try XFTPSource(claim, client: client) }
        }
    }
}
