import Base
import Cryptography

/// Talks to any number of relays: makes, uploads, fetches and deletes chunks. One per process is
/// enough; it may be used from any task.
///
/// What fails for a while (no connection, a deadline, a relay in trouble) is tried again with growing
/// delays as `XFTPClientSettings.retry` says; what a relay refuses for good is thrown at once.
/// Cancelling the task closes the connection that its request was on.
///
/// Every request throws, beside what it names: `.unreachable`, `.timedOut`, `.relayNotAllowed`, `.wrongIdentity`,
/// `.protocolViolation`, `.relay` with what the relay answered, `.cancelled`.
public final class XFTPClient: Sendable {
    public let settings: XFTPClientSettings
    private let relays: RelayTable
    private let suspension = Suspension()

    public init(settings: XFTPClientSettings) {
        self.settings = settings
        relays = RelayTable(settings: settings)
    }

    deinit { close() }

    /// Closes all connections and forgets what was learned about relays. What was waiting for a connection ends with
    /// `.cancelled`; what was under way on one is tried again over a new one, as after every connection that breaks:
    /// who wants it to end cancels its task first. The client can be used again.
    public func close() { relays.close() }

    /// Closes all connections and opens none until `resume`: requests wait, also those that were under way, which are
    /// made again then. Nothing fails because of it; how long anybody waits is the caller's decision.
    public func suspend() {
        if suspension.suspend() { relays.disconnect() }
    }

    /// Goes on at once, also with what waited for its next try.
    public func resume() { suspension.resume() }

    /// Has up to `connections` connections to each of `relays` opened, where there are fewer: for who is
    /// about to use them. Returns at once and reports nothing.
    public func openAhead(_ relays: [RelayAddress], connections: Int) {
        guard !suspension.isSuspended else { return }
        for relay in relays { self.relays.with(relay) { $0.openAhead(connections) } }
    }

    /// Asks the relay for a sign of life.
    /// - Throws: as every request.
    public func ping(_ relay: RelayAddress) async throws(XFTPError) {
        guard case .pong = try await perform(.ping, on: relay) else {
            throw .brokenProtocol("answered a ping with something else", relay)
        }
    }

    /// Recipients in one request.
    static let recipientsPerRequest = 200

    /// FNEW, and FADD for more recipients than one request takes.
    /// - Parameters:
    ///   - relay: with its password, if it has one.
    ///   - size: bytes of the chunk.
    ///   - digest: SHA-256 of the chunk.
    /// - Throws: `.relay(.authorization)` where the relay takes no new files, or not with this password; as every
    ///   request.
    public func create(
        size: UInt32, digest: [UInt8], senderKey: SigningKey, recipientKeys: [SigningKey],
        on relay: RelayAddress
    ) async throws(XFTPError) -> CreatedChunkIDs {
        let keys = recipientKeys.map(\.publicKey)
        let first = Array(keys.prefix(Self.recipientsPerRequest))
        let chunk = XFTPCommand.NewChunk(
            senderKey: senderKey.publicKey, size: size, digest: digest, recipientKeys: first,
            password: relay.password.map { Array($0.utf8) })
        let response: XFTPResponse
        do throws(XFTPError) {
            response = try await perform(.create(chunk), on: relay, signedBy: senderKey)
        } catch {
            guard error.code == .relay(.authorization) else { throw error }
            throw XFTPError(
                .relay(.authorization),
                "The relay \(relay.name) takes no new files from you: its password is missing or wrong, or it "
                    + "is closed.", cause: error)
        }
        guard case .created(let senderID, var recipientIDs) = response, recipientIDs.count == first.count
        else { throw .brokenProtocol("gave the wrong number of IDs", relay) }
        while recipientIDs.count < keys.count {
            let more = Array(keys[recipientIDs.count...].prefix(Self.recipientsPerRequest))
            let response = try await perform(
                .addRecipients(keys: more), on: relay, entity: senderID, signedBy: senderKey)
            guard case .added(let added) = response, added.count == more.count else {
                throw .brokenProtocol("gave the wrong number of IDs", relay)
            }
            recipientIDs += added
        }
        guard !senderID.isEmpty, recipientIDs.allSatisfy({ !$0.isEmpty }) else {
            throw .brokenProtocol("gave an empty ID", relay)
        }
        return CreatedChunkIDs(senderID: senderID, recipientIDs: recipientIDs)
    }

    /// FPUT: brings the bytes of a chunk that was made with their size and digest.
    /// - Throws: as every request.
    public func upload(
        _ buffer: ChunkBuffer, to senderID: [UInt8], signedBy key: SigningKey, on relay: RelayAddress
    ) async throws(XFTPError) {
        try await upload(
            to: senderID, signedBy: key, on: relay, body: { ChunkBody(buffer) { _ in } })
    }

    /// The same of a chunk whose memory may go before the relay confirms it.
    func upload(
        _ chunk: OutgoingChunk, to senderID: [UInt8], signedBy key: SigningKey, on relay: RelayAddress,
        counter: @escaping ByteCounter
    ) async throws(XFTPError) {
        try await upload(to: senderID, signedBy: key, on: relay) { () throws(XFTPError) in
            ChunkBody(try await chunk.memory(), counter: counter, wasRead: chunk.wasRead)
        }
    }

    /// - Parameter body: makes the body of each attempt. Before a connection is waited for: who has one waits for no
    ///   memory, since who has memory may wait for a connection.
    private func upload(
        to senderID: [UInt8], signedBy key: SigningKey, on relay: RelayAddress,
        body: () async throws(XFTPError) -> ChunkBody
    ) async throws(XFTPError) {
        try await retrying { () throws(XFTPError) in
            try await self.use(relay) { connections throws(XFTPError) in
                let body = try await body()
                try await connections.withTransfer { connection throws(XFTPError) in
                    do throws(XFTPError) {
                        try await connection.upload(body, to: senderID, signedBy: key)
                    } catch {
                        // The record pins the digest, so what the relay has already is this chunk.
                        if error.code == .relay(.hasFile) { return }
                        body.takeBack()
                        throw error
                    }
                }
            }
        }
    }

    /// FDEL: the chunk is gone for everyone.
    /// - Throws: `.relay(.authorization)` for a chunk that is not there, also where it was deleted; as every
    ///   request.
    public func delete(
        _ senderID: [UInt8], signedBy key: SigningKey, on relay: RelayAddress
    ) async throws(XFTPError) {
        try await expectOK(perform(.delete, on: relay, entity: senderID, signedBy: key), relay)
    }

    /// FACK: the chunk is gone for this recipient.
    /// - Throws: as `delete`.
    public func acknowledge(
        _ recipientID: [UInt8], signedBy key: SigningKey, on relay: RelayAddress
    ) async throws(XFTPError) {
        try await expectOK(perform(.acknowledge, on: relay, entity: recipientID, signedBy: key), relay)
    }

    /// Fetches a chunk into `buffer`, as it lies on a relay (encrypted), verified by its SHA-256.
    ///
    /// The relays of its replicas are asked one after another, those that failed or were silent a moment ago last; one
    /// that refuses for good is not asked again. When one sends nothing for `replicaTimeout`, the next is
    /// asked as well, and the first byte decides which of them goes on.
    /// - Parameter retry: how often to try; nil for that of the settings.
    /// - Throws: `.damaged` for a chunk that is not the described one, or lies on no relay;
    ///   `.malformedDescription` for a replica without a proper key; as every request. Of several relays'
    ///   failures one that may pass, if any may.
    public func fetch(
        _ chunk: FileDescription.Chunk, into buffer: ChunkBuffer, retry: RetryPolicy? = nil,
        counter: @escaping ByteCounter = { _ in }
    ) async throws(XFTPError) {
        precondition(buffer.capacity >= Int(chunk.size), "the buffer is smaller than the chunk")
        var replicas = chunk.replicas
        try await retrying(retry) { () throws(XFTPError) in
            if replicas.count == 1 {
                return try await self.fetch(chunk, from: replicas[0], into: buffer, counter: counter)
            }
            let avoided = replicas.map { self.relays.isAvoided($0.relay) }
            let inOrder = [false, true].flatMap { last in
                zip(replicas, avoided).filter { $0.1 == last }.map(\.0)
            }
            var race = ReplicaRace(chunk, replicas: inOrder, into: buffer, client: self, counter: counter)
            defer { replicas.removeAll(where: race.refused.contains) }
            try await race.run()
        }
    }

    /// From one relay, once.
    func fetch(
        _ chunk: FileDescription.Chunk, from replica: FileDescription.Replica, into buffer: ChunkBuffer,
        counter: @escaping ByteCounter
    ) async throws(XFTPError) {
        let key = try Self.key(of: replica)
        try await transferring(on: replica.relay) { connection throws(XFTPError) in
            try await connection.download(
                chunk, on: replica.id, signedBy: key, into: buffer, counter: counter)
        }
    }

    /// The key that signs for a replica.
    static func key(of replica: FileDescription.Replica) throws(XFTPError) -> SigningKey {
        guard let key = SigningKey(pkcs8: replica.key) else {
            throw XFTPError(.malformedDescription, "The file description has an invalid key.")
        }
        return key
    }

    // MARK: Connections and repetition

    private func perform(
        _ command: XFTPCommand, on relay: RelayAddress, entity: [UInt8] = [], signedBy key: SigningKey? = nil
    ) async throws(XFTPError) -> XFTPResponse {
        try await retrying { () throws(XFTPError) in
            try await self.use(relay) { connections throws(XFTPError) in
                try await connections.withConnection { connection throws(XFTPError) in
                    try await connection.perform(command, on: entity, signedBy: key)
                }
            }
        }
    }

    private func transferring(
        on relay: RelayAddress, _ body: (RelayConnection) async throws(XFTPError) -> Void
    ) async throws(XFTPError) {
        try await use(relay) { connections throws(XFTPError) in
            try await connections.withTransfer(body)
        }
    }

    /// Runs `body` with the connections to a relay; again, when it failed because work was suspended.
    private func use<Result: Sendable>(
        _ relay: RelayAddress, _ body: (RelayConnections) async throws(XFTPError) -> Result
    ) async throws(XFTPError) -> Result {
        while true {
            guard await suspension.wait() else { throw .cancelled }
            let count = suspension.count
            do throws(XFTPError) {
                return try await relays.with(relay, body)
            } catch {
                // Closed while it was being opened, it counts as cancelled.
                let isOver = error.isTemporary || error.code == .cancelled
                guard isOver, suspension.count != count, !Task.isCancelled else { throw error }
            }
        }
    }

    private func expectOK(_ response: XFTPResponse, _ relay: RelayAddress) throws(XFTPError) {
        guard response == .ok else { throw .brokenProtocol("answered with something else than OK", relay) }
    }

    func health(of relay: RelayAddress) -> RelayHealth { relays.with(relay) { $0.health } }

    /// How long a round trip to a relay takes that is known to be far away.
    func farRoundTrip(_ relay: RelayAddress) -> Duration? { relays.with(relay) { $0.farRoundTrip } }

    /// Requests that are sent to a relay at once, at present.
    func requestsAllowed(at relay: RelayAddress) -> Int { relays.with(relay) { $0.requestsAllowed } }

    /// Relays that it keeps connections to, or has used a moment ago.
    var relayCount: Int { relays.count }

    private func retrying<Result: Sendable>(
        _ policy: RetryPolicy? = nil, _ operation: () async throws(XFTPError) -> Result
    ) async throws(XFTPError) -> Result {
        var attempt = 1
        while true {
            if Task.isCancelled { throw .cancelled }
            do throws(XFTPError) {
                return try await operation()
            } catch {
                if Task.isCancelled { throw .cancelled }
                attempt += 1
                guard error.isTemporary, let delay = (policy ?? settings.retry).delay(beforeTry: attempt)
                else {
                    throw error
                }
                guard await suspension.sleep(for: delay) else { throw .cancelled }
            }
        }
    }
}
