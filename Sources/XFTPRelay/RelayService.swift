import Base
import Cryptography
import Network
import Posix
import XFTP

/// What all connections of a relay share: who may do what, and doing it. Every method blocks for the
/// disk and may be called from any thread.
final class RelayService: Sendable {
    let identity: ServerIdentity
    let records: RelayRecords
    let files: ChunkFiles
    let quota: Quota
    let settings: RelaySettings
    /// Requests that are examined and carried out at once: signatures and records, but no bytes of chunks.
    let turns = FairSemaphore<PeerAddress>(count: 4)
    private let announcements = Lock<[PeerAddress: Announcing]>([:])

    /// What an address announces.
    private struct Announcing {
        let number: Int64
        /// Seconds since 1970.
        var last: Int64
    }

    /// Sizes of chunks that are taken, as configured in the official relay by default.
    static let chunkSizes: Set<UInt32> = [64 << 10, 256 << 10, 1 << 20, 4 << 20]
    /// Recipients that a chunk can have.
    static let maxRecipients = 4096

    init(
        settings: RelaySettings, identity: ServerIdentity, records: RelayRecords, files: ChunkFiles,
        quota: Quota
    ) {
        self.quota = quota
        self.settings = settings
        self.identity = identity
        self.records = records
        self.files = files
    }

    /// What a request is about, once its signature has been checked.
    enum Subject {
        case nothing
        case sender(ChunkRecord)
        case recipient(ChunkRecord)
    }

    /// Checks that the command has the signature and entity it needs, and that both fit.
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
            // Costs less than a signature.
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

    /// A key nobody has: unknown IDs cost as much time as known ones, and tell nothing.
    private static let nobody = SigningKey.generate().publicKey

    private func verify(_ transmission: Transmission, key: [UInt8]?) throws(XFTPProtocolError) {
        guard let verifying = VerifyingKey(spki: key ?? Self.nobody),
            verifying.isValid(transmission.signature, for: transmission.signedBytes), key != nil
        else { throw .authorization }
    }

    // MARK: Commands

    /// The number of what an address announces, over all of its connections. In memory alone: no address is ever stored.
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

    /// - Parameter peer: who asks.
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

    /// Makes records that take so many bytes.
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

    /// Forgets records, or the first of them, and their bytes. Answers how many.
    private func forget(_ chunks: [ChunkRecord]) throws -> Int {
        let deleted = try records.delete(chunks.map(\.id))
        for case (let record, let deleted?) in zip(chunks, deleted) {
            quota.giveBack(Quota.record(recipients: deleted.recipients))
            if deleted.wasStored { files.remove(record) }
        }
        return deleted.count { $0 != nil }
    }

    func acknowledge(_ recipientID: [UInt8]) throws -> XFTPResponse {
        if try records.removeRecipient(recipientID) { quota.giveBack(Quota.recipientRecord) }
        return .ok
    }

    /// The box of one download, and the answer that lets the client make the same.
    func agree(with clientKey: [UInt8]) throws(XFTPProtocolError) -> (box: StreamBox, response: XFTPResponse)
    {
        let key = AgreementKey.generate()
        let nonce = settings.random.bytes(XFTPResponse.nonceSize)
        // Of another kind, or of small order.
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
        // Also so that it does not expire on its way.
        if let announcement = record.announcement {
            try records.extend(Announcement(id: announcement, now: settings.clock.now().seconds))
        }
        guard let upload = try files.beginUpload(of: record) else { throw XFTPProtocolError.quota }
        return upload
    }

    /// Judges a complete upload and keeps it: when this returns, the chunk survives whatever happens.
    func finish(_ upload: ChunkUpload) throws -> XFTPResponse {
        // Two uploads of one chunk may end at once: neither is to take the place of bytes that are acknowledged.
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
            // Whether the record counts on these bytes (the same upload may have been finished twice at once)
            // cannot be asked now. What no record counts on goes at the next start.
            files.settle(upload, .wasStored)
            throw error
        }
        return .ok
    }

    // MARK: Expiry

    /// Seconds since 1970.
    var now: Int64 { settings.clock.now().seconds }

    private func hasExpired(_ record: ChunkRecord) -> Bool { record.created < expiryLimit(now) }

    /// Records created before this are gone.
    private func expiryLimit(_ now: Int64) -> Int64 { now - settings.expiry.components.seconds }

    /// Deletes what has expired, and what never got its bytes, some at a time. Answers how many chunks.
    /// - Parameter goesOn: asked after each time.
    func expire(asOf now: Int64, goesOn: () -> Bool = { true }) throws -> Int {
        let (count, isDone) = try forget(createdBefore: expiryLimit(now), dueBefore: now, goesOn)
        guard isDone else { return count }
        try records.forgetAnnouncements(dueBefore: now)
        announcements.withLock { announcements in
            announcements = announcements.filter { $0.value.last >= now - Announcement.timeout }
        }
        return count
    }

    /// Deletes chunks of an age, in seconds, and what has waited for its bytes for so long. Answers how many.
    func purge(olderThan age: Int64) throws -> Int {
        try forget(createdBefore: now - age, dueBefore: now - age + Announcement.timeout) { true }.count
    }

    /// Answers how many chunks it deleted, and whether there are no more.
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

    /// The word for what went wrong here; what the client did not cause is told to the operator.
    static func refusal(of error: any Error) -> XFTPProtocolError {
        if let error = error as? XFTPProtocolError { return error }
        Log("relay").error("A request failed. \(sentence(of: error))")
        return error is SystemError ? .fileIO : .internalError
    }
}
