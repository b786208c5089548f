import Base
import Cryptography

/// A session with a server through a proxy. The proxy sees the client but not the requests; the server sees only the
/// proxy.
public struct ProxiedSession: Sendable {
    private let sessionID: [UInt8]
    private let version: UInt16
    private let serverKey: [UInt8]

    /// The padded length of both boxes in bytes.
    private static let size = 16_226

    /// - Parameter server: Its certificates must lead to the expected fingerprint; the caller checks that.
    /// - Throws: `.unsupportedVersion`; `.wrongIdentity` if the certificates did not sign its key.
    public init(_ server: ProxiedServer) throws(SMPError) {
        guard let version = SMPVersion.agreed(server.versions, SMPVersion.servers) else {
            throw SMPError(
                .unsupportedVersion,
                "The messaging server speaks versions \(server.versions.text) through its proxy, this program \(SMPVersion.servers.text)."
            )
        }
        guard let key = SignedKey.key(server.signedKey, signedByLeafOf: server.certificates) else {
            throw SMPError(.wrongIdentity, "The messaging server is not the one that its address names.")
        }
        sessionID = server.sessionID
        self.version = version
        serverKey = key
    }

    /// Returns whether a proxy forwards such a command.
    public static func carries(_ command: Command) -> Bool {
        switch command {
        case .senderKey, .send, .linkKey, .linkGet: true
        default: false
        }
    }

    /// A request to the server through the proxy.
    public struct Request: Sendable {
        /// PFWD, the command to the proxy.
        public let outer: ClientRequest
        fileprivate let inner: ClientRequest
        fileprivate let secret: WipedBytes
        fileprivate let nonce: [UInt8]
        fileprivate let version: UInt16
    }

    /// Wraps a request to the server into one to the proxy.
    /// - Throws: `.tooLong`; `.wrongIdentity` if the server's key is unusable.
    public func wrap(
        _ request: ClientRequest, random: any RandomSource = SystemRandomSource()
    ) throws(SMPError) -> Request {
        let nonce = random.bytes(Transmission.correlationLength)
        let key = AgreementKey.generate(random: random)
        let secret: WipedBytes
        do throws(CryptographyError) {
            secret = try key.wipedSecret(with: serverKey)
        } catch {
            throw SMPError(.wrongIdentity, "The messaging server's key is unusable.", cause: error)
        }
        var transmission = Transmission(
            correlationID: nonce, entityID: request.entityID,
            body: request.command.encoded(version: version))
        if let commandKey = request.key {
            transmission.authorization = try commandKey.authorization(
                of: transmission.signedBytes(sessionID: sessionID), correlationID: nonce, serverKey: serverKey
            )
        }
        let encoded = transmission.encoded(version: version)
        guard encoded.count <= Self.size,
            let box = MessageBox.seal(
                Batch.encode([encoded]), paddedTo: Self.size, key: secret, nonce: nonce)
        else { throw SMPError(.tooLong, "The request is too long for a proxy.") }
        let outer = ClientRequest(
            .proxyForward(version: version, key: key.publicKey, box: box), of: sessionID,
            timeout: request.timeout * 2, correlationID: nonce)
        return Request(outer: outer, inner: request, secret: secret, nonce: nonce, version: version)
    }

    /// Decrypts the server's answer.
    /// - Parameter box: The box of the proxy's answer, PRES.
    /// - Throws: `.notAuthentic`, `.malformed`.
    public func open(_ box: [UInt8], of request: Request) throws(SMPError) -> Answer {
        guard
            let content = MessageBox.openPadded(
                box, key: request.secret, nonce: Array(request.nonce.reversed()))
        else { throw .notAuthentic }
        guard let transmissions = Batch.decode(content), transmissions.count == 1,
            let transmission = Transmission(decoding: transmissions[0], version: request.version),
            transmission.correlationID == request.nonce,
            let answer = Answer(decoding: transmission.body, version: request.version),
            let fitting = request.inner.command.fitting(answer)
        else { throw .malformed }
        return fitting
    }
}
