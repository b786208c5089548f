import Base
import Cryptography
import Network
import Posix

/// A client for any number of XFTP relays: creates, uploads, fetches and deletes chunks. One per process is enough.
/// Thread-safe.
///
/// Temporary failures (no connection, a deadline, a relay in trouble) are retried with growing delays as
/// `XFTPClientSettings.retry` says. Permanent ones are thrown at once. Cancelling the task closes the connection of its
/// request.
///
/// Every request throws, besides its own errors: `.unreachable`, `.timedOut`, `.relayNotAllowed`, `.wrongIdentity`,
/// `.protocolViolation`, `.relay` with the relay's answer, `.cancelled`.
public final class XFTPClient: Sendable {
    public let settings: XFTPClientSettings
    public let transferred = TransferredBytes()
    /// The order and limits of the fetches of all downloads.
    public let transfers: ChunkTransfers
    /// Memory for their chunks.
    let buffers = SpareBuffers()
    private let relays: RelayTable
    private let suspension = Suspension()

    public init(settings: XFTPClientSettings) {
        self.settings = settings
        transfers = ChunkTransfers(settings: settings.fetching)
        relays = RelayTable(settings: settings)
        // A reader waits for the first connection.
        ThreadPool.shared.submit { HTTP2Client.prepare() }
    }

    deinit { close() }

    /// Closes all connections and forgets the state of all relays. Requests that wait for a connection end with
    /// `.cancelled`. Active requests retry on a new connection, so callers cancel their tasks first. The client can be
    /// used again.
    public func close() { relays.close() }

    /// Closes all connections and pauses all requests until `resume()`, without failing them. Active requests are then
    /// repeated. Callers set their own deadlines.
    public func suspend() {
        if suspension.suspend() { relays.disconnect() }
    }

    /// Resumes all requests. Ends retry delays early.
    public func resume() { suspension.resume() }

    /// Opens up to `connections` connections to each of `relays` before they are needed. Returns at once and reports no
    /// errors.
    public func openAhead(_ relays: [RelayAddress], connections: Int) {
        guard !suspension.isSuspended else { return }
        for relay in relays { self.relays.with(relay) { $0.openAhead(connections) } }
    }

    /// Sends PING to a relay.
    /// - Throws: The errors of every request.
    public func ping(_ relay: RelayAddress) async throws(XFTPError) {
        guard case .pong = try await perform(.ping, on: relay) else {
            throw .brokenProtocol("answered a ping with something else", relay)
        }
    }

    /// The maximum number of recipients in one request.
    static let recipientsPerRequest = 200

    /// Creates a chunk with FNEW. Adds recipients beyond the first request with FADD.
    /// - Parameters:
    ///   - size: The length of the chunk in bytes.
    ///   - digest: The SHA-256 of the chunk.
    ///   - relay: The relay, with its password if it has one.
    /// - Throws: `.relay(.authorization)` if the relay accepts no new files or not this password; the errors of every
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
                "The relay \(relay.name) accepts no new files: its password is missing or wrong, or it "
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

    /// Uploads the bytes of a created chunk with FPUT.
    /// - Throws: The errors of every request.
    public func upload(
        _ buffer: ChunkBuffer, to senderID: [UInt8], signedBy key: SigningKey, on relay: RelayAddress
    ) async throws(XFTPError) {
        try await upload(
            to: senderID, signedBy: key, on: relay, body: { ChunkBody(buffer) { _ in } })
    }

    /// Uploads a chunk whose memory may be reused before the relay confirms it.
    func upload(
        _ chunk: OutgoingChunk, to senderID: [UInt8], signedBy key: SigningKey, on relay: RelayAddress,
        counter: @escaping ByteCounter
    ) async throws(XFTPError) {
        try await upload(to: senderID, signedBy: key, on: relay) { () throws(XFTPError) in
            ChunkBody(try await chunk.memory(), counter: counter, wasRead: chunk.wasRead)
        }
    }

    /// - Parameter body: Makes the body of each attempt. It may wait for memory, so it runs before waiting for a
    ///   connection. A task with a connection never waits for memory, which prevents a deadlock.
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
                        transferred.addSent(body.length)
                    } catch {
                        // FNEW fixed the digest, so the relay already has these bytes.
                        if error.code == .relay(.hasFile) { return }
                        body.takeBack()
                        throw error
                    }
                }
            }
        }
    }

    /// Deletes a chunk for all recipients with FDEL.
    /// - Throws: `.relay(.authorization)` for an unknown or deleted chunk; the errors of every request.
    public func delete(
        _ senderID: [UInt8], signedBy key: SigningKey, on relay: RelayAddress
    ) async throws(XFTPError) {
        try await expectOK(perform(.delete, on: relay, entity: senderID, signedBy: key), relay)
    }

    /// Deletes a chunk for this recipient with FACK.
    /// - Throws: The errors of `delete`.
    public func acknowledge(
        _ recipientID: [UInt8], signedBy key: SigningKey, on relay: RelayAddress
    ) async throws(XFTPError) {
        try await expectOK(perform(.acknowledge, on: relay, entity: recipientID, signedBy: key), relay)
    }

    /// Fetches an encrypted chunk into `buffer` and verifies its SHA-256.
    ///
    /// Asks the relays of its replicas one after another; relays that failed recently come last. A relay that refuses
    /// permanently is not asked again. If a relay sends nothing for `replicaTimeout`, the next one is asked too, and
    /// the first byte decides between them.
    /// - Parameter retry: The retry policy, or nil for that of the settings.
    /// - Throws: `.damaged` if the chunk differs from the description or no relay has it; `.malformedDescription` for a
    ///   replica with an invalid key; the errors of every request. Of several failures, a temporary one if there is
    ///   any.
    public func fetch(
        _ chunk: FileDescription.Chunk, into buffer: ChunkBuffer, retry: RetryPolicy? = nil,
        counter: @escaping ByteCounter = { _ in }
    ) async throws(XFTPError) {
        precondition(buffer.capacity >= Int(chunk.size), "the buffer is smaller than the chunk")
        buffer.populate(Int(chunk.size))
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

    /// Fetches a chunk from one relay, without retry.
    func fetch(
        _ chunk: FileDescription.Chunk, from replica: FileDescription.Replica, into buffer: ChunkBuffer,
        counter: @escaping ByteCounter
    ) async throws(XFTPError) {
        let key = try Self.key(of: replica)
        try await transferring(on: replica.relay) { connection throws(XFTPError) in
            try await connection.download(
                chunk, on: replica.id, signedBy: key, into: buffer, counter: counter)
            transferred.addFetched(Int(chunk.size))
        }
    }

    /// Returns the key that signs requests for a replica.
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

    /// Runs `body` with the connections to a relay. Repeats it if it failed because of `suspend()`.
    private func use<Result: Sendable>(
        _ relay: RelayAddress, _ body: (RelayConnections) async throws(XFTPError) -> Result
    ) async throws(XFTPError) -> Result {
        while true {
            guard await suspension.wait() else { throw .cancelled }
            let count = suspension.count
            do throws(XFTPError) {
                return try await relays.with(relay, body)
            } catch {
                // A connection closed while opening counts as cancelled.
                let isOver = error.isTemporary || error.code == .cancelled
                guard isOver, suspension.count != count, !Task.isCancelled else { throw error }
            }
        }
    }

    private func expectOK(_ response: XFTPResponse, _ relay: RelayAddress) throws(XFTPError) {
        guard response == .ok else { throw .brokenProtocol("answered with something else than OK", relay) }
    }

    func health(of relay: RelayAddress) -> RelayHealth { relays.with(relay) { $0.health } }

    /// Returns the round trip to a relay if it is known to be far away.
    func farRoundTrip(_ relay: RelayAddress) -> Duration? { relays.with(relay) { $0.farRoundTrip } }

    /// Returns the number of concurrent requests currently allowed at a relay.
    func requestsAllowed(at relay: RelayAddress) -> Int { relays.with(relay) { $0.requestsAllowed } }

    /// The number of relays with connections or recent use.
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
