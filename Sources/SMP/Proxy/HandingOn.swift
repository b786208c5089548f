import Base
import Cryptography

/// The proxy's side of `ProxiedSession`: forwards requests of clients to a server over one session (PFWD to RFWD). The
/// proxy can read neither requests nor answers.
public struct HandingOn: Sendable {
    /// The description of the server for clients.
    public let server: ProxiedServer
    private let secret: WipedBytes

    init(_ hello: ServerHello, _ secret: WipedBytes) {
        server = ProxiedServer(
            sessionID: hello.sessionID, versions: hello.versions, certificates: hello.certificates,
            signedKey: hello.signedKey)
        self.secret = secret
    }

    /// Wraps a client's request (PFWD) into one to the server (RFWD).
    /// - Parameter correlationID: of the client's request, 24 bytes.
    public func request(
        version: UInt16, key: [UInt8], box: [UInt8], correlationID: [UInt8],
        random: any RandomSource = SystemRandomSource()
    ) -> ClientRequest {
        let nonce = random.bytes(Transmission.correlationLength)
        var bytes: [UInt8] = []
        bytes.append(byteString: correlationID)
        bytes.append(bigEndian: version)
        bytes.append(byteString: key)
        bytes += box
        return ClientRequest(
            .relayForward(box: MessageBox.seal(bytes, key: secret, nonce: nonce)),
            timeout: ClientRequest.backgroundTimeout, correlationID: nonce)
    }

    /// Unwraps the server's answer (RRES) for the client (PRES). Returns nil if it does not belong to the request.
    /// - Parameters:
    ///   - box: The box of RRES.
    ///   - request: The result of `request`.
    public func answer(_ box: [UInt8], to request: ClientRequest, correlationID: [UInt8]) -> Answer? {
        guard let nonce = request.correlationID,
            let bytes = MessageBox.open(box, key: secret, nonce: Array(nonce.reversed()))
        else { return nil }
        var reader = ByteReader(bytes)
        guard reader.byteString() == correlationID else { return nil }
        return .forwarded(box: reader.rest())
    }
}

/// A forwarded request (RFWD) at its server.
public struct HandedOn: Sendable {
    /// The client's transmission.
    public let received: ServerSession.Received
    private let secret: WipedBytes
    private let clientSecret: WipedBytes
    private let nonce: [UInt8]
    private let clientNonce: [UInt8]
    private let version: UInt16

    /// The padded length of both boxes of client and server in bytes.
    static let size = 16_226

    /// - Parameters:
    ///   - box: The box of RFWD, with its correlation id.
    ///   - authority: The authority of the session with the proxy.
    /// - Throws: The error to answer the proxy.
    public init(_ box: [UInt8], correlationID: [UInt8], _ authority: SessionAuthority) throws(ServerError) {
        guard let secret = authority.secret, correlationID.count == Transmission.correlationLength,
            let bytes = MessageBox.open(box, key: secret, nonce: correlationID)
        else { throw .cryptography }
        var reader = ByteReader(bytes)
        guard let clientNonce = reader.byteString(), clientNonce.count == Transmission.correlationLength,
            let version = reader.integer(UInt16.self), SMPVersion.servers.contains(version),
            let key = reader.agreementKey()
        else { throw .command(.syntax) }
        guard let clientSecret = try? authority.key.wipedSecret(with: key),
            let content = MessageBox.openPadded(reader.rest(), key: clientSecret, nonce: clientNonce)
        else { throw .cryptography }
        guard let transmissions = Batch.decode(content), transmissions.count == 1,
            let transmission = Transmission(decoding: transmissions[0], version: version)
        else { throw .block }
        received = ServerSession.Received(transmission, Self.command(transmission, version))
        self.secret = secret
        self.clientSecret = clientSecret
        nonce = correlationID
        self.clientNonce = clientNonce
        self.version = version
    }

    /// Only commands of senders may be forwarded.
    private static func command(_ transmission: Transmission, _ version: UInt16) -> Result<
        Command, ServerError
    > {
        guard let command = Command(decoding: transmission.body, version: version) else {
            return .failure(.command(.syntax))
        }
        return ProxiedSession.carries(command) ? .success(command) : .failure(.command(.prohibited))
    }

    /// Returns RRES for the proxy. Only the client can read its content.
    public func sealed(_ answer: Answer) -> Answer {
        let reply = Transmission(
            correlationID: received.transmission.correlationID, entityID: received.transmission.entityID,
            body: answer.encoded(version: version)
        ).encoded(version: version)
        guard
            let box = MessageBox.seal(
                Batch.encode([reply]), paddedTo: Self.size, key: clientSecret,
                nonce: Array(clientNonce.reversed()))
        else { return .error(.block) }
        var bytes: [UInt8] = []
        bytes.append(byteString: clientNonce)
        bytes += box
        return .handedOn(box: MessageBox.seal(bytes, key: secret, nonce: Array(nonce.reversed())))
    }
}
