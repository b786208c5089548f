import Base
import Cryptography
import Posix

/// Uploads single chunks: digest, record, bytes. Skips chunks that an earlier attempt uploaded.
final class ChunkUploader: Sendable {
    private struct State {
        var sent: Int64 = 0
        var isFar = false
        var failure: XFTPError?
    }

    private let client: XFTPClient
    private let relays: [RelayAddress]
    private let records: UploadRecords
    private let total: UInt64
    private let progress: @Sendable (UInt64, UInt64) -> Void
    private let state = Lock(State())
    /// The maximum number of round trips per chunk, slow start included, on a line with high bandwidth.
    private static let wide = 12

    init(
        client: XFTPClient, relays: [RelayAddress], records: UploadRecords, sizes: [UInt32],
        progress: @escaping @Sendable (UInt64, UInt64) -> Void
    ) {
        self.client = client
        self.relays = relays
        self.records = records
        self.progress = progress
        total = sizes.reduce(0) { $0 + UInt64($1) }
    }

    /// The failure that ended the upload. Later ones are its consequences.
    var failure: XFTPError? { state.withLock { $0.failure } }

    /// Whether a chunk went to a far relay in few round trips. Each such chunk waits a round trip for its record and
    /// another for its confirmation, so more chunks in parallel use the bandwidth better.
    var isFar: Bool { state.withLock { $0.isFar } }

    func throwFailure() throws(XFTPError) {
        if let failure { throw failure }
    }

    func upload(_ chunk: OutgoingChunk) async throws(XFTPError) {
        do throws(XFTPError) {
            try await uploadToSome(chunk)
        } catch {
            // Ignore cancellations that another failure caused.
            state.withLock { if $0.failure == nil, error.code != .cancelled { $0.failure = error } }
            throw error
        }
    }

    private func uploadToSome(_ chunk: OutgoingChunk) async throws(XFTPError) {
        let digest = try await chunk.digest()
        if let known = records.state.chunk(chunk.index) {
            guard known.digest == Base64URL.encode(digest) else {
                throw XFTPError(.source, "The file changed after its upload began.")
            }
            if known.isUploaded {
                count(chunk.count)
                return
            }
            do throws(XFTPError) {
                return try await finish(known, chunk)
            } catch {
                // The record may have expired or its relay is unreachable, so create the chunk again.
                if Self.isOfThisSide(error) { throw error }
            }
        }
        var failure: XFTPError?
        for attempt in relays.indices {
            let relay = relays[(chunk.index + attempt) % relays.count]
            do throws(XFTPError) {
                return try await uploadToOne(relay, chunk, digest: digest)
            } catch {
                if Self.isOfThisSide(error) { throw error }
                if failure == nil { failure = error }
            }
        }
        throw failure ?? .cancelled
    }

    /// Whether another record or relay would not help.
    private static func isOfThisSide(_ error: XFTPError) -> Bool {
        error.code == .cancelled || error.code == .storage
    }

    private func uploadToOne(
        _ relay: RelayAddress, _ chunk: OutgoingChunk, digest: [UInt8]
    ) async throws(XFTPError) {
        let senderKey = SigningKey.generate()
        let recipientKeys = (0..<records.state.recipients).map { _ in SigningKey.generate() }
        let created = try await client.create(
            size: UInt32(chunk.count), digest: digest, senderKey: senderKey, recipientKeys: recipientKeys,
            on: relay)
        let record = UploadState.CreatedChunk(
            index: chunk.index, relay: relay, created: created, senderKey: senderKey,
            recipientKeys: recipientKeys, digest: digest)
        try await records.put(record)
        try await finish(record, chunk)
    }

    private func finish(
        _ record: UploadState.CreatedChunk, _ chunk: OutgoingChunk
    ) async throws(XFTPError) {
        guard let replica = record.senderReplica else {
            throw XFTPError(.wrongState, "The saved state of the upload is damaged.")
        }
        if isFar { chunk.leaveEarly() }
        let part = UnconfirmedBytes()
        let start = ContinuousClock.now
        try await client.upload(
            chunk, to: replica.id, signedBy: try XFTPClient.key(of: replica), on: replica.relay
        ) { self.count(part.left($0)) }
        if let roundTrip = client.farRoundTrip(replica.relay), .now - start <= roundTrip * Self.wide {
            state.withLock { $0.isFar = true }
        }
        count(part.confirmed(chunk.count))
        var done = record
        done.isUploaded = true
        try await records.put(done)
    }

    private func count(_ bytes: Int) {
        let sum = state.withLock { state in
            state.sent += Int64(bytes)
            return state.sent
        }
        progress(UInt64(max(0, sum)), total)
    }
}

/// The share of a chunk that counts as sent before the relay confirms it. Sent bytes may still be in local buffers, so
/// only three quarters count and progress stays below 100 %.
final class UnconfirmedBytes: Sendable {
    private struct State {
        var left = 0
        var counted = 0

        mutating func move(to count: Int) -> Int {
            defer { counted = count }
            return count - counted
        }
    }

    private let state = Lock(State())

    /// Adds bytes sent, or subtracts those of a failed attempt. Returns the change of the count.
    func left(_ bytes: Int) -> Int {
        state.withLock { state in
            state.left += bytes
            return state.move(to: state.left / 4 * 3)
        }
    }

    /// Counts the whole chunk after the relay confirmed it. Returns the change of the count.
    func confirmed(_ bytes: Int) -> Int { state.withLock { $0.move(to: bytes) } }
}
