import Base
import Cryptography
import Posix

/// What an upload gives.
public struct UploadedFile: Sendable {
    /// Deletes the file from the relays. Never given to others.
    public let sender: FileDescription
    /// One for each recipient: each has its own IDs and keys.
    public let recipients: [FileDescription]
}

/// Brings a file to relays in one pass and without a temporary copy: it is read once, sealed chunk
/// by chunk, and several chunks are on their way at once. Memory: `buffers` chunks, and some more when a
/// relay is far away on a wide line.
public enum FileUpload {
    /// What happens to the chunks on the relays when an upload ends before it is complete.
    public enum AbandonedChunks: Sendable {
        /// They stay, to be resumed with the saved state.
        case keep
        /// They are deleted, as far as the relays can be reached within some seconds.
        case delete
    }

    /// Chunks in memory at once, 4 MiB each at most.
    public static let buffers = 6

    /// And so many more for relays far away on a wide line.
    static let moreBuffers = 6

    /// Connections to a relay that are opened while the first chunk is being made.
    static let connectionsAhead = 4

    /// Uploads `source`.
    ///
    /// - Parameters:
    ///   - fileName: goes into the encrypted header.
    ///   - recipients: how many descriptions, at least 1.
    ///   - relays: with their passwords; chunks go to them alternately, and to the next one where one fails.
    ///   - state: of an earlier attempt with the same file, name and number of recipients.
    ///   - save: called with the new state on a pool thread, one call at a time: when the upload begins,
    ///     about twice a second while chunks are added, and when it ends. What it throws ends the upload.
    ///   - progress: encrypted bytes that have left, and in all; of a chunk at most three quarters before its
    ///     relay has confirmed it. Called often, from any thread.
    /// - Throws: `.noRelay`, `.tooLarge` for more than XFTP carries, `.source` when `source` throws or has
    ///   changed, `.storage` when `save` throws, `.wrongState` for the state of another upload; as
    ///   `XFTPClient.create` and `upload` where all relays fail; `.cancelled`.
    public static func run(
        _ source: any UploadSource, fileName: String, recipients: Int, relays: [RelayAddress],
        client: XFTPClient, state: UploadState? = nil, abandoned: AbandonedChunks = .keep,
        save: @escaping @Sendable (UploadState) throws -> Void = { _ in },
        progress: @escaping @Sendable (_ sent: UInt64, _ total: UInt64) -> Void = { _, _ in }
    ) async throws(XFTPError) -> UploadedFile {
        try await run(
            source, fileName: fileName, recipients: recipients, relays: relays, client: client, state: state,
            abandoned: abandoned, isSingle: false, save: save, progress: progress)
    }

    static func run(
        _ source: any UploadSource, fileName: String, recipients: Int, relays: [RelayAddress],
        client: XFTPClient, state: UploadState?, abandoned: AbandonedChunks, isSingle: Bool,
        save: @escaping @Sendable (UploadState) throws -> Void,
        progress: @escaping @Sendable (UInt64, UInt64) -> Void
    ) async throws(XFTPError) -> UploadedFile {
        guard !relays.isEmpty else {
            throw XFTPError(
                .noRelay,
                "No relay is configured to send to: 'chatfs relay add xftp://…' adds one, or give one with --relay."
            )
        }
        let start = try Self.start(state, fileName: fileName, size: source.size, recipients: recipients)
        let producer = try ChunkProducer(source: source, state: start, isSingle: isSingle)
        let records = UploadRecords(start, save: save)
        let uploader = ChunkUploader(
            client: client, relays: relays, records: records, sizes: producer.sizes, progress: progress)
        client.openAhead(
            Array(relays.prefix(producer.sizes.count)),
            connections: min(connectionsAhead, producer.sizes.count))
        defer { deleteReplaced(in: records, client: client) }
        do throws(XFTPError) {
            try await records.flush()
            let digest = try await transfer(producer, uploader: uploader)
            try await records.flush()
            return try describe(records.state, digest: digest, sizes: producer.sizes)
        } catch {
            switch abandoned {
            // The failure that counts is the one that ended the upload.
            case .keep: try? await records.flush()
            case .delete: await discard(records.state, client: client)
            }
            throw error
        }
    }

    /// Where a saved upload is, or the beginning of a new one.
    private static func start(
        _ state: UploadState?, fileName: String, size: UInt64, recipients: Int
    ) throws(XFTPError) -> UploadState {
        guard recipients >= 1 else {
            throw XFTPError(.wrongState, "The upload is for nobody: its record is damaged.")
        }
        guard size <= ChunkPlan.maxFileSize else {
            throw XFTPError(.tooLarge, "The file is larger than 5 GiB, the most that XFTP carries.")
        }
        if let state, !state.isOf(fileName: fileName, size: size, recipients: recipients) {
            throw XFTPError(.wrongState, "The saved state belongs to the upload of another file.")
        }
        return state
            ?? UploadState(
                fileName: fileName, size: size, recipients: recipients, random: SystemRandomSource())
    }

    /// The pipeline: chunks are produced one after the other; each is digested for the whole file
    /// and uploaded while the next ones are being made.
    private static func transfer(
        _ producer: ChunkProducer, uploader: ChunkUploader
    ) async throws(XFTPError) -> [UInt8] {
        let largest = producer.sizes.reduce(0) { max($0, Int($1)) }
        let pool = ChunkBufferPool(count: min(buffers, producer.sizes.count), capacity: largest)
        let digest = FileDigest()
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                var lastDigest: Task<Void, Never>?
                var isFar = false
                for index in producer.sizes.indices {
                    if !isFar, uploader.isFar {
                        isFar = true
                        pool.grow(by: moreBuffers)
                    }
                    let buffer = try await pool.take()
                    try uploader.throwFailure()
                    try await ThreadPool.shared.run { () throws(XFTPError) in
                        try producer.produce(index, into: buffer)
                    }
                    let chunk = OutgoingChunk(index, in: buffer, of: producer, pool: pool)
                    let previous = lastDigest
                    let current = Task {
                        await previous?.value
                        await ThreadPool.shared.run { digest.update(buffer) }
                        chunk.wasDigested()
                    }
                    lastDigest = current
                    group.addTask { try await send(chunk, with: uploader, digested: current) }
                }
                try await group.waitForAll()
                await lastDigest?.value
            }
        } catch let error as XFTPError {
            throw error.code == .cancelled ? uploader.failure ?? error : error
        } catch {
            throw .cancelled
        }
        return digest.finalize()
    }

    /// One chunk; its buffer goes back when it is in the digest of the whole too.
    private static func send(
        _ chunk: OutgoingChunk, with uploader: ChunkUploader, digested: Task<Void, Never>
    ) async throws(XFTPError) {
        let outcome: Result<Void, XFTPError>
        do throws(XFTPError) {
            outcome = .success(try await uploader.upload(chunk))
        } catch {
            outcome = .failure(error)
        }
        await digested.value
        // Also after a failure: who makes the next chunk may be waiting for a buffer.
        chunk.end()
        try outcome.get()
    }

    private static func describe(
        _ state: UploadState, digest: [UInt8], sizes: [UInt32]
    ) throws(XFTPError) -> UploadedFile {
        func description(
            _ party: FileDescription.Party,
            _ replica: (UploadState.CreatedChunk) -> FileDescription.Replica?
        ) throws(XFTPError) -> FileDescription {
            var chunks: [FileDescription.Chunk] = []
            for (index, size) in sizes.enumerated() {
                guard let created = state.chunk(index), let replica = replica(created),
                    let digest = Base64URL.decode(created.digest)
                else { throw XFTPError(.wrongState, "The saved state of the upload is damaged.") }
                chunks.append(.init(number: index + 1, size: size, digest: digest, replicas: [replica]))
            }
            return FileDescription(
                party: party, digest: digest, key: state.keyBytes, nonce: state.nonceBytes, chunks: chunks)
        }
        var recipients: [FileDescription] = []
        for recipient in 0..<state.recipients {
            recipients.append(try description(.recipient) { $0.recipientReplica(recipient) })
        }
        return UploadedFile(sender: try description(.sender) { $0.senderReplica }, recipients: recipients)
    }

    /// Deletes from the relays what an unfinished upload made there. Chunks that are gone already count as deleted.
    /// - Throws: the first failure of `XFTPClient.delete`, after all have been tried; `.wrongState` where the record of
    ///   one makes no sense, when the others are deleted.
    public static func delete(_ state: UploadState, client: XFTPClient) async throws(XFTPError) {
        let replicas = state.chunks.compactMap(\.senderReplica)
        try await FileDeletion.delete(replicas, client: client)
        guard replicas.count == state.chunks.count else {
            throw XFTPError(
                .wrongState,
                "The saved state of the upload is damaged: what it brought to relays stays there until they drop it."
            )
        }
    }

    /// The same at the end of an upload that nobody will go on with: as far as the relays can be reached
    /// within `deadline`. What stays expires by itself.
    public static func discard(
        _ state: UploadState, client: XFTPClient, deadline: Duration = .seconds(10)
    ) async {
        // Of its own, because the caller's task may be cancelled: that is why it discards.
        await end(Task { try? await delete(state, client: client) }, within: deadline)
    }

    /// Deletes what chunks left behind that were made anew: beside all else, since a relay that has just failed may
    /// take its time, and nobody is to wait for it.
    private static func deleteReplaced(in records: UploadRecords, client: XFTPClient) {
        let replicas = records.takeReplaced().compactMap(\.senderReplica)
        guard !replicas.isEmpty else { return }
        Task {
            await end(
                Task { try? await FileDeletion.delete(replicas, client: client) }, within: .seconds(10))
        }
    }

    /// What a relay does not hear of within this time it drops in its own.
    private static func end(_ deletion: Task<Void?, Never>, within deadline: Duration) async {
        let limit = Task {
            try await Task.sleep(for: deadline)
            deletion.cancel()
        }
        _ = await deletion.value
        limit.cancel()
    }

    /// A description that was uploaded itself.
    public struct Redirect: Sendable {
        /// The short description that leads to it.
        public var short: FileDescription
        /// Deletes its chunk.
        public var sender: FileDescription
    }

    /// Uploads the description of a file as a file of its own, in one chunk: what links are made of when the
    /// file has several chunks.
    /// - Throws: as `run`; `.tooLarge` for a description that fits into no chunk.
    public static func redirect(
        to description: FileDescription, relays: [RelayAddress], client: XFTPClient
    ) async throws(XFTPError) -> Redirect {
        let source = BytesSource(bytes: Array(description.text.utf8))
        let uploaded = try await run(
            source, fileName: "direct.yaml", recipients: 1, relays: relays, client: client, state: nil,
            abandoned: .delete, isSingle: true, save: { _ in }, progress: { _, _ in })
        var short = uploaded.recipients[0]
        short.redirect = .init(size: description.size, digest: description.digest)
        return Redirect(short: short, sender: uploaded.sender)
    }
}
