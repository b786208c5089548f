import Base
import Cryptography
import Network
import Posix
import XFTP

/// The shared part of all connections: authorizes and performs commands. Methods block on the disk. Thread-safe.
final class RelayService: Sendable {
    let identity: ServerIdentity
    let records: RelayRecords
    let files: ChunkFiles
    let quota: Budget
    let settings: RelaySettings
    /// Limits concurrent examination and execution of requests: signatures and records, but not chunk bytes.
    let turns = FairSemaphore<PeerAddress>(count: 4)
    private let announcements = Lock<[PeerAddress: Announcing]>([:])

    /// The open announcement of an address.
    private struct Announcing {
        let number: Int64
        /// The time of the last announcement, in seconds since 1970.
        var last: Int64
    }

    /// The accepted chunk sizes in bytes, the official relay's default.
    static let chunkSizes: Set<UInt32> = [64 << 10, 256 << 10, 1 << 20, 4 << 20]
    /// The maximum number of recipients of a chunk.
    static let maxRecipients = 4096

    init(
        settings: RelaySettings, identity: ServerIdentity, records: RelayRecords, files: ChunkFiles,
        quota: Budget
    ) {
        self.quota = quota
        self.settings = settings
        self.identity = identity
        self.records = records
        self.files = files
    }

    /// The subject of an authenticated request.
    enum Subject {
        case nothing
        case sender(ChunkRecord)
        case recipient(ChunkRecord)
    }

    /// Checks that the command has its required signature and entity, and that both are valid.
    func authorise(
        _ command: XFTPCommand, _ transmission: Transmission
    ) throws -> Subject {
        let isSigned = !transmission.signature.isEmpty
        let hasEntity = !transmission.entityID.isEmpty
        switch command {
        case .ping:
            guard !isSigned, !hasEntity else { throw XFTPProtocolError.command(.hasSignature) }
            return .nothing
        case .create(let chunk):
            guard isSigned else { throw XFTPProtocolError.command(.noSignature) }
            guard !hasEntity else { throw XFTPProtocolError.command(.hasSignature) }
            guard (chunk.recipientKeys + [chunk.senderKey]).allSatisfy({ VerifyingKey(spki: $0) != nil })
            else { throw XFTPProtocolError.command(.syntax) }
            // Cheaper than a signature, so checked first.
            if let password = settings.password {
                guard constantTimeEqual(Array(password.utf8), chunk.password ?? []) else {
                    throw XFTPProtocolError.authorization
                }
            }
            try verify(transmission, key: chunk.senderKey)
            return .nothing
        case .addRecipients(let keys):
            guard keys.allSatisfy({ VerifyingKey(spki: $0) != nil }) else {
                throw XFTPProtocolError.command(.syntax)
            }
        case .upload, .delete, .download, .acknowledge: break
        }
        guard isSigned, hasEntity else { throw XFTPProtocolError.command(.noSignature) }
        switch command {
        case .download, .acknowledge:
            let found = try records.chunk(ofRecipient: transmission.entityID)
            try verify(transmission, key: found?.key)
            guard let found, !hasExpired(found.record) else { throw XFTPProtocolError.authorization }
            return .recipient(found.record)
        default:
            let found = try records.chunk(ofSender: transmission.entityID)
            try verify(transmission, key: found?.senderKey)
            guard let found, !hasExpired(found) else { throw XFTPProtocolError.authorization }
            return .sender(found)
        }
    }

    /// A key without owner: requests with unknown IDs take as long as others and reveal nothing.
    private static let unknownKey = SigningKey.generate().publicKey

    private func verify(_ transmission: Transmission, key: [UInt8]?) throws(XFTPProtocolError) {
        guard let verifying = VerifyingKey(spki: key ?? Self.unknownKey),
            verifying.isValid(transmission.signature, for: transmission.signedBytes), key != nil
        else { throw .authorization }
    }

    // MARK: Commands

    /// Returns the announcement of an address, across its connections. Kept only in memory: addresses are never stored.
    private func announcement(of peer: PeerAddress, _ now: Int64) -> Announcement {
        let new = Announcing(number: newNumber(), last: now)
        let number = announcements.withLock { announcements in
            announcements[peer, default: new].last = now
            return announcements[peer, default: new].number
        }
        return Announcement(id: number, now: now)
    }

    private func newNumber() -> Int64 {
        settings.random.bytes(8).reduce(0) { $0 << 8 | Int64($1) } & .max
    }

    /// - Parameter peer: The client's address.
    func create(_ chunk: XFTPCommand.NewChunk, of peer: PeerAddress) throws -> XFTPResponse {
        guard Self.chunkSizes.contains(chunk.size) else { throw XFTPProtocolError.size }
        let now = settings.clock.now().seconds
        return try taking(Quota.record(recipients: chunk.recipientKeys.count)) {
            guard
                let made = try records.create(
                    chunk, created: now - now % settings.roundingSeconds,
                    in: announcement(of: peer, now), limit: settings.maxAnnounced)
            else { throw XFTPProtocolError.quota }
            return .created(sender: made.sender, recipients: made.recipients)
        }
    }

    func addRecipients(_ keys: [[UInt8]], to record: ChunkRecord) throws -> XFTPResponse {
        try taking(Quota.recipientRecord * UInt64(keys.count)) {
            guard let ids = try records.addRecipients(keys, to: record.id, limit: Self.maxRecipients) else {
                throw XFTPProtocolError.authorization
            }
            guard ids.count == keys.count else { throw XFTPProtocolError.quota }
            return .added(recipients: ids)
        }
    }

    /// Creates records that use `bytes` of the quota.
    private func taking(_ bytes: UInt64, _ make: () throws -> XFTPResponse) throws -> XFTPResponse {
        guard quota.take(bytes) else { throw XFTPProtocolError.quota }
        do {
            return try make()
        } catch {
            quota.giveBack(bytes)
            throw error
        }
    }

    func delete(_ record: ChunkRecord) throws -> XFTPResponse {
        _ = try forget([record])
        return .ok
    }

    /// Deletes records, possibly only the first of them, and their bytes. Returns the number of deleted records.
    private func forget(_ chunks: [ChunkRecord]) throws -> Int {
        let deleted = try records.delete(chunks.map(\.id))
        for case (let record, let deleted?) in zip(chunks, deleted) {
            quota.giveBack(Quota.record(recipients: deleted.recipients))
            if deleted.wasStored { files.remove(record) }
        }
        records.reserveSpace()
        return deleted.count { $0 != nil }
    }

    func acknowledge(_ recipientID: [UInt8]) throws -> XFTPResponse {
        if try records.removeRecipient(recipientID) { quota.giveBack(Quota.recipientRecord) }
        return .ok
    }

    /// Returns the cipher of one download and the response from which the client derives it.
    func agree(with clientKey: [UInt8]) throws(XFTPProtocolError) -> (box: StreamBox, response: XFTPResponse)
    {
        let key = AgreementKey.generate()
        let nonce = settings.random.bytes(XFTPResponse.nonceSize)
        // The key is of another kind or of small order.
        guard let shared = try? key.sharedSecret(with: clientKey),
            let box = try? StreamBox(key: shared, nonce: nonce)
        else { throw .command(.syntax) }
        return (box, .file(key: key.publicKey, nonce: nonce))
    }

    func open(_ record: ChunkRecord) throws -> OpenChunk {
        guard record.isStored else { throw XFTPProtocolError.noFile }
        return try files.open(record)
    }

    func beginUpload(of record: ChunkRecord) throws -> ChunkUpload {
        // Also prevents expiry during the upload.
        if let announcement = record.announcement {
            try records.extend(Announcement(id: announcement, now: settings.clock.now().seconds))
        }
        guard let upload = try files.beginUpload(of: record) else { throw XFTPProtocolError.quota }
        return upload
    }

    /// Verifies and stores a complete upload. When this returns, the chunk survives power cuts.
    func finish(_ upload: ChunkUpload) throws -> XFTPResponse {
        // Two uploads of one chunk may end at once. Neither may replace acknowledged bytes.
        guard files.beginPlacing(upload.record) else {
            files.discard(upload)
            throw XFTPProtocolError.internalError
        }
        defer { files.endPlacing(upload.record) }
        do {
            guard upload.isComplete else { throw XFTPProtocolError.size }
            guard upload.isAuthentic else { throw XFTPProtocolError.digest }
            if files.isPlaced(upload.record),
                try records.chunk(ofSender: upload.record.senderID)?.isStored == true
            {
                files.discard(upload)
                return .ok
            }
            try files.place(upload)
        } catch {
            files.discard(upload)
            throw error
        }
        do {
            files.settle(upload, try records.markStored(upload.record.id))
        } catch {
            // The record may refer to these bytes, if the same upload finished twice at once. The next start deletes
            // unreferenced bytes.
            files.settle(upload, .wasStored)
            throw error
        }
        return .ok
    }

    // MARK: Expiry

    /// Seconds since 1970.
    var now: Int64 { settings.clock.now().seconds }

    private func hasExpired(_ record: ChunkRecord) -> Bool { record.created < expiryLimit(now) }

    /// Returns the creation time before which records are expired.
    private func expiryLimit(_ now: Int64) -> Int64 { now - settings.expiry.components.seconds }

    /// Deletes expired chunks and unfinished uploads in batches. Returns the number of deleted chunks.
    /// - Parameter goesOn: Returns whether to continue, called after each batch.
    func expire(asOf now: Int64, goesOn: () -> Bool = { true }) throws -> Int {
        let (count, isDone) = try forget(createdBefore: expiryLimit(now), dueBefore: now, goesOn)
        guard isDone else { return count }
        try records.forgetAnnouncements(dueBefore: now)
        announcements.withLock { announcements in
            announcements = announcements.filter { $0.value.last >= now - Announcement.timeout }
        }
        return count
    }

    /// Deletes chunks and unfinished uploads older than `age` seconds. Returns the number of deleted chunks.
    func purge(olderThan age: Int64) throws -> Int {
        try forget(createdBefore: now - age, dueBefore: now - age + Announcement.timeout) { true }.count
    }

    /// Returns the number of deleted chunks and whether none are left.
    private func forget(
        createdBefore created: Int64, dueBefore due: Int64, _ goesOn: () -> Bool
    ) throws -> (count: Int, isDone: Bool) {
        var count = 0
        for find in [
            { try self.records.chunks(createdBefore: created, limit: $0) },
            { try self.records.unfinished(dueBefore: due, limit: $0) },
        ] {
            while case let batch = try find(500), !batch.isEmpty {
                count += try forget(batch)
                guard goesOn() else { return (count, false) }
            }
        }
        return (count, true)
    }

    // MARK: Refusals

    /// Maps an error to a response. Logs errors that the client did not cause.
    static func refusal(of error: any Error) -> XFTPProtocolError {
        if let error = error as? XFTPProtocolError { return error }
        Log("relay").error("request failed: error=\(sentence(of: error))")
        return error is SystemError ? .fileIO : .internalError
    }
}
