import Base
import Cryptography

/// Hands requests of clients on to a server, over a session with it: what a server does for `ProxiedSession` of its
/// clients. It can read neither the requests nor the answers.
public struct HandingOn: Sendable {
    /// What clients are told of the server.
    public let server: ProxiedServer
    private let secret: WipedBytes

    init(_ hello: ServerHello, _ secret: WipedBytes) {
        server = ProxiedServer(
            sessionID: hello.sessionID, versions: hello.versions, certificates: hello.certificates,
            signedKey: hello.signedKey)
        self.secret = secret
    }

    /// The request to the server for one of a client.
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
            .handOn(box: MessageBox.seal(bytes, key: secret, nonce: nonce)),
            timeout: ClientRequest.backgroundTimeout, correlationID: nonce)
    }

    /// What the client is answered; nil when it is no answer to its request.
    /// - Parameters:
    ///   - box: of the server's answer.
    ///   - request: what `request` gave.
    public func answer(_ box: [UInt8], to request: ClientRequest, correlationID: [UInt8]) -> Answer? {
        guard let nonce = request.correlationID,
            let bytes = MessageBox.open(box, key: secret, nonce: Array(nonce.reversed()))
        else { return nil }
        var reader = ByteReader(bytes)
        guard reader.byteString() == correlationID else { return nil }
        return .forwarded(box: reader.rest())
    }
}

/// A request that another server hands on, as its server opens it.
public struct HandedOn: Sendable {
    /// What the client asked.
    public let received: ServerSession.Received
    private let secret: WipedBytes
    private let clientSecret: WipedBytes
    private let nonce: [UInt8]
    private let clientNonce: [UInt8]
    private let version: UInt16

    /// What both boxes of client and server are padded to.
    static let size = 16_226

    /// - Parameters:
    ///   - box: of the other server's request, with its correlation id.
    ///   - authority: of the session with that.
    /// - Throws: what the other server is told.
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

    /// Nothing but what senders ask is handed on.
    private static func command(_ transmission: Transmission, _ version: UInt16) -> Result<
        Command, ServerError
    > {
        guard let command = Command(decoding: transmission.body, version: version) else {
            return .failure(.command(.syntax))
        }
        return ProxiedSession.carries(command) ? .success(command) : .failure(.command(.prohibited))
    }

    /// The answer to the other server, of which only the client can read what is in it.
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
