import Base
import Cryptography
import Posix

/// The descriptions of an uploaded file.
public struct UploadedFile: Sendable {
    /// The sender's description, which can delete the file from the relays. Never shared.
    public let sender: FileDescription
    /// One description for each recipient, with its own IDs and keys.
    public let recipients: [FileDescription]
}

/// Uploads a file in one pass without a temporary copy: reads it once, seals it chunk by chunk and uploads several
/// chunks at once. Uses memory for `buffers` chunks, and more if a relay is far away on a line with high bandwidth.
public enum FileUpload {
    /// The treatment of uploaded chunks when an upload ends early.
    public enum AbandonedChunks: Sendable {
        /// Keep them, to resume with the saved state.
        case keep
        /// Delete them, if the relays respond within some seconds.
        case delete
    }

    /// The number of chunks in memory, at most 4 MiB each.
    public static let buffers = 4

    /// The number of additional chunks for far relays.
    static let moreBuffers = 6

    /// The number of connections to a relay opened while the first chunk is sealed.
    static let connectionsAhead = 4

    /// Uploads `content`.
    ///
    /// - Parameters:
    ///   - fileName: The name in the encrypted header.
    ///   - recipients: The number of recipient descriptions, at least 1.
    ///   - relays: The relays with their passwords. Chunks alternate between them and move to the next one after a
    ///     failure.
    ///   - state: The state of an earlier attempt with the same file, name and number of recipients.
    ///   - save: Saves the new state: when the upload begins, about twice a second while chunks are added, and when it
    ///     ends. Called on a pool thread, one call at a time. An error ends the upload.
    ///   - progress: Receives encrypted bytes sent and in total. At most three quarters of a chunk count before its
    ///     relay confirms it. Called often, from any thread.
    /// - Throws: `.noRelay`; `.tooLarge` for more than 5 GiB; `.source` if `source` throws or changed; `.storage` if
    ///   `save` throws; `.wrongState` for the state of another upload; the errors of `XFTPClient.create` and `upload`
    ///   if all relays fail; `.cancelled`.
    public static func run(
        _ content: UploadContent, fileName: String, recipients: Int, relays: [RelayAddress],
        client: XFTPClient, state: UploadState? = nil, abandoned: AbandonedChunks = .keep,
        save: @escaping @Sendable (UploadState) throws -> Void = { _ in },
        progress: @escaping @Sendable (_ sent: UInt64, _ total: UInt64) -> Void = { _, _ in }
    ) async throws(XFTPError) -> UploadedFile {
        try await run(
            content, fileName: fileName, recipients: recipients, relays: relays, client: client, state: state,
            abandoned: abandoned, isSingle: false, save: save, progress: progress)
    }

    /// Uploads a plaintext.
    public static func run(
        _ source: any UploadSource, fileName: String, recipients: Int, relays: [RelayAddress],
        client: XFTPClient, state: UploadState? = nil, abandoned: AbandonedChunks = .keep,
        save: @escaping @Sendable (UploadState) throws -> Void = { _ in },
        progress: @escaping @Sendable (_ sent: UInt64, _ total: UInt64) -> Void = { _, _ in }
    ) async throws(XFTPError) -> UploadedFile {
        try await run(
            .plaintext(source), fileName: fileName, recipients: recipients, relays: relays, client: client,
            state: state,
            abandoned: abandoned, isSingle: false, save: save, progress: progress)
    }

    static func run(
        _ content: UploadContent, fileName: String, recipients: Int, relays: [RelayAddress],
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
        let start = try Self.start(state, content, fileName: fileName, recipients: recipients)
        let producer = try content.chunks(start, isSingle: isSingle)
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
            case .keep: await saveUnfinished(records)
            case .delete: await discard(records.state, client: client)
            }
            throw error
        }
    }

    /// Saves the state of a failed upload. The caller throws the failure of the upload, not that of saving.
    private static func saveUnfinished(_ records: UploadRecords) async {
        do throws(XFTPError) {
            try await records.flush()
        } catch {
            Log("xftp").warning("state of a failed upload not saved: error=\(error.sentence)")
        }
    }

    /// Returns the saved state after checking it, or a new one.
    private static func start(
        _ state: UploadState?, _ content: UploadContent, fileName: String, recipients: Int
    ) throws(XFTPError) -> UploadState {
        guard recipients >= 1 else {
            throw XFTPError(.wrongState, "The upload has no recipients; its saved state is damaged.")
        }
        guard content.size <= ChunkPlan.maxFileSize else {
            throw XFTPError(.tooLarge, "The file is larger than 5 GiB, the limit of XFTP.")
        }
        let new = UploadState(
            fileName: fileName, size: content.size, recipients: recipients,
            arguments: content.arguments ?? CryptoFile.freshArguments())
        guard let state else { return new }
        guard state.isOf(fileName: fileName, size: content.size, recipients: recipients),
            content.arguments == nil || state.hasKey(of: new)
        else { throw XFTPError(.wrongState, "The saved state belongs to the upload of another file.") }
        return state
    }

    /// The pipeline: produces the chunks in order. Each chunk is hashed for the whole file and uploaded while later
    /// ones are produced.
    private static func transfer(
        _ producer: any ChunkProduction, uploader: ChunkUploader
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

    /// Uploads one chunk and returns its buffer after the whole-file digest has used it.
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
        // Also after a failure: the producer may wait for a buffer.
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

    /// Deletes an unfinished upload from the relays. A missing chunk counts as deleted.
    /// - Throws: The first failure of `XFTPClient.delete`, after all chunks were tried; `.wrongState` if a record is
    ///   invalid, after the others were deleted.
    public static func delete(_ state: UploadState, client: XFTPClient) async throws(XFTPError) {
        let replicas = state.chunks.compactMap(\.senderReplica)
        try await FileDeletion.delete(replicas, client: client)
        guard replicas.count == state.chunks.count else {
            throw XFTPError(
                .wrongState,
                "The saved state of the upload is damaged; its chunks stay on the relays until they expire."
            )
        }
    }

    /// Deletes an abandoned upload from the relays, within `deadline`. Remaining chunks expire.
    public static func discard(
        _ state: UploadState, client: XFTPClient, deadline: Duration = .seconds(10)
    ) async {
        // Use a separate task, because the caller's may be cancelled.
        await end(Task { try? await delete(state, client: client) }, within: deadline)
    }

    /// Deletes replaced chunks in the background, because a failed relay may respond slowly.
    private static func deleteReplaced(in records: UploadRecords, client: XFTPClient) {
        let replicas = records.takeReplaced().compactMap(\.senderReplica)
        guard !replicas.isEmpty else { return }
        Task {
            await end(
                Task { try? await FileDeletion.delete(replicas, client: client) }, within: .seconds(10))
        }
    }

    /// Cancels a deletion after `deadline`. Remaining chunks expire on the relays.
    private static func end(_ deletion: Task<Void?, Never>, within deadline: Duration) async {
        let limit = Task {
            try await Task.sleep(for: deadline)
            deletion.cancel()
        }
        _ = await deletion.value
        limit.cancel()
    }

    /// An uploaded description and the short description that leads to it.
    public struct Redirect: Sendable {
        /// The short description.
        public var short: FileDescription
        /// Deletes the uploaded description.
        public var sender: FileDescription
    }

    /// Uploads a description as a file with a single chunk, for links to files with several chunks.
    /// - Throws: The errors of `run`; `.tooLarge` if the description is too long for a chunk.
    public static func redirect(
        to description: FileDescription, relays: [RelayAddress], client: XFTPClient
    ) async throws(XFTPError) -> Redirect {
        let source = BytesSource(bytes: Array(description.text.utf8))
        let uploaded = try await run(
            .plaintext(source), fileName: "direct.yaml", recipients: 1, relays: relays, client: client,
            state: nil,
            abandoned: .delete, isSingle: true, save: { _ in }, progress: { _, _ in })
        var short = uploaded.recipients[0]
        short.redirect = .init(size: description.size, digest: description.digest)
        return Redirect(short: short, sender: uploaded.sender)
    }
}
