import Base
import Cryptography
import Network

/// One connection to a relay after its handshake (XFTP protocol, "Transport handshake").
final class RelayConnection: Sendable {
    private let http: HTTP2Client
    private let relay: RelayAddress
    private let settings: XFTPClientSettings
    /// The TLS channel binding, which names this session in every request and response.
    var sessionID: [UInt8] { http.channelBinding }
    var isOpen: Bool { http.isOpen }

    private init(http: HTTP2Client, relay: RelayAddress, settings: XFTPClientSettings) {
        self.http = http
        self.relay = relay
        self.settings = settings
    }

    /// Connects to the first reachable address and performs the handshake.
    /// - Parameter health: Receives the response time of the relay.
    static func open(
        _ relay: RelayAddress, settings: XFTPClientSettings, health: RelayHealth
    ) async throws(XFTPError) -> RelayConnection {
        try await waitForTurn(relay, settings)
        let tls = TLSClientSettings(identityFingerprint: relay.fingerprint)
        var failure: XFTPError?
        let endpoints =
            settings.proxy == nil
            ? try await RelayResolver.endpoints(of: relay, policy: settings.policy)
            : try RelayResolver.endpointsForProxy(of: relay, policy: settings.policy)
        for endpoint in endpoints {
            let http: HTTP2Client
            do throws(NetworkError) {
                http = try await HTTP2Client.connect(
                    to: endpoint, tls: tls, timeout: settings.connectDeadline, through: settings.proxy)
            } catch {
                failure = XFTPError(error, relay: relay)
                if error.code == .cancelled { break }
                continue
            }
            let connection = RelayConnection(http: http, relay: relay, settings: settings)
            do throws(XFTPError) {
                try await connection.shakeHands(health)
                settings.policy.noteReached(relay.places)
                return connection
            } catch {
                connection.close()
                throw error
            }
        }
        throw failure ?? XFTPError(.unreachable, "The relay \(relay.name) has no address.")
    }

    /// Delays connections to relays that were never reached. Received descriptions can name any number of them.
    private static func waitForTurn(
        _ relay: RelayAddress, _ settings: XFTPClientSettings
    ) async throws(XFTPError) {
        let end = ContinuousClock.now + settings.connectDeadline
        while let delay = settings.policy.delay(before: relay.places, for: "files") {
            guard ContinuousClock.now + delay < end else {
                throw XFTPError(
                    .unreachable,
                    "The relay \(relay.name) is delayed: files named too many unknown relays in the last hour."
                )
            }
            do {
                try await Task.sleep(for: delay)
            } catch {
                throw .cancelled
            }
        }
    }

    func close() { http.close() }

    // MARK: Handshake

    private func shakeHands(_ health: RelayHealth) async throws(XFTPError) {
        let start = ContinuousClock.now
        let message = try await exchange([], limit: Block.size)
        health.answered(after: .now - start)
        guard let hello = Block.unpad(message) else {
            throw .brokenProtocol("did not answer with a hello", relay)
        }
        guard let hello = ServerHello(decoding: hello) else { throw refusal(hello) }
        guard constantTimeEqual(hello.sessionID, sessionID) else {
            throw XFTPError(
                .wrongIdentity,
                "The relay \(relay.name) names another session; the connection may be intercepted.")
        }
        // The network module verified that the certificate chain belongs to the fingerprint.
        guard hello.certificates == http.peerCertificates else {
            throw XFTPError(
                .wrongIdentity, "The relay \(relay.name) presents other certificates than its connection.")
        }
        guard let leaf = hello.certificates.first.flatMap(SignedKey.publicKey(ofCertificate:)),
            let leafKey = VerifyingKey(spki: leaf), let key = SignedKey(hello.signedKey),
            key.isSigned(by: leafKey)
        else {
            throw XFTPError(.wrongIdentity, "The relay \(relay.name) presents a key that it did not sign.")
        }
        let supported = XFTPVersion.supported
        let version = min(hello.versions.upperBound, supported.upperBound)
        guard version >= max(hello.versions.lowerBound, supported.lowerBound) else {
            throw XFTPError(
                .protocolViolation, "The relay \(relay.name) supports no known version of XFTP.")
        }
        guard let block = ClientHello(version: version, identity: relay.fingerprint).block() else {
            throw .brokenProtocol("has a fingerprint that is too long for a hello", relay)
        }
        let answer = try await exchange(block, limit: Block.size)
        guard answer.isEmpty else { throw refusal(Block.unpad(answer) ?? []) }
    }

    /// Maps the bare error word with which a relay refuses a handshake.
    private func refusal(_ message: [UInt8]) -> XFTPError {
        guard let error = XFTPProtocolError(text: String(decoding: message, as: UTF8.self)) else {
            return .brokenProtocol("sent an invalid hello", relay)
        }
        return .refused(error, by: relay)
    }

    private func exchange(_ bytes: [UInt8], limit: Int) async throws(XFTPError) -> [UInt8] {
        let answer = CollectedBody(limit: limit)
        try await send(BytesBody(bytes), to: answer, deadline: settings.requestDeadline)
        return answer.bytes
    }

    // MARK: Requests

    /// Sends a command without chunk.
    func perform(
        _ command: XFTPCommand, on entity: [UInt8] = [], signedBy key: SigningKey? = nil
    ) async throws(XFTPError) -> XFTPResponse {
        let answer = try await exchange(
            try block(command, on: entity, signedBy: key), limit: Block.size)
        return try read(answer)
    }

    /// Uploads a chunk with FPUT. Closes the connection after any failure, because the official relay does not restore
    /// the flow-control window of unread bytes, and later requests would hang.
    func upload(_ chunk: ChunkBody, to entity: [UInt8], signedBy key: SigningKey) async throws(XFTPError) {
        let block = try block(.upload, on: entity, signedBy: key)
        let answer = CollectedBody(limit: Block.size)
        do throws(XFTPError) {
            try await send(
                JoinedBody([BytesBody(block), chunk]), to: answer,
                deadline: settings.deadline(bytes: chunk.length))
            guard case .ok = try read(answer.bytes) else {
                throw XFTPError.brokenProtocol("sent an unexpected response to an upload", relay)
            }
        } catch {
            close()
            throw error
        }
    }

    /// Fetches a chunk with FGET into `buffer`, decrypts it and checks its digest.
    func download(
        _ chunk: FileDescription.Chunk, on entity: [UInt8], signedBy key: SigningKey,
        into buffer: ChunkBuffer,
        counter: @escaping ByteCounter
    ) async throws(XFTPError) {
        let agreement = AgreementKey.generate()
        let block = try block(.download(key: agreement.publicKey), on: entity, signedBy: key)
        let sink = ChunkSink(
            into: buffer, size: Int(chunk.size), key: agreement, sessionID: sessionID, counter: counter)
        do throws(XFTPError) {
            try await send(
                BytesBody(block), to: sink, deadline: settings.deadline(bytes: Int(chunk.size)))
            switch sink.response {
            case .file: break
            case .error(let error): throw XFTPError.refused(error, by: relay)
            default: throw XFTPError.brokenProtocol("sent an unexpected response to a download", relay)
            }
            guard sink.isComplete(digest: chunk.digest) else {
                close()
                throw XFTPError(
                    .damaged,
                    "Chunk \(chunk.number) from the relay \(relay.name) differs from the sender's "
                        + "description.")
            }
        } catch {
            sink.takeBack()
            throw error
        }
    }

    private func block(
        _ command: XFTPCommand, on entity: [UInt8], signedBy key: SigningKey?
    ) throws(XFTPError) -> [UInt8] {
        var transmission = Transmission(sessionID: sessionID, entityID: entity, body: command.encoded)
        if let key { transmission = transmission.signed(by: key) }
        guard let block = transmission.block() else {
            throw XFTPError(.tooLarge, "Too many recipients for one request to a relay.")
        }
        return block
    }

    private func read(_ answer: [UInt8]) throws(XFTPError) -> XFTPResponse {
        do throws(XFTPError) {
            let response = try XFTPResponse(block: answer, sessionID: sessionID)
            if case .error(let error) = response { throw XFTPError.refused(error, by: relay) }
            return response
        } catch {
            switch error.code {
            // The session is broken, so close the connection.
            case .protocolViolation, .relay(.session): close()
            default: break
            }
            throw error
        }
    }

    private func send(
        _ body: any BodySource, to sink: any BodySink, deadline: Duration
    ) async throws(XFTPError) {
        do throws(NetworkError) {
            try await http.send(body, to: sink, deadline: deadline)
        } catch {
            throw XFTPError(error, relay: relay)
        }
    }
}
