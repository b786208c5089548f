import Base
import Cryptography

/// The values of one connection with which its server verifies commands.
public struct SessionAuthority: Sendable {
    public let sessionID: [UInt8]
    /// The server's session key.
    let key: AgreementKey
    /// The agreement of both session keys, or nil if the client does not forward requests.
    var secret: WipedBytes?

    /// Returns whether the owner of a key authorised a command in this session. Takes the same time for every cause of
    /// a failure.
    /// - Parameter key: SubjectPublicKeyInfo, for signatures or agreements.
    public func isAuthorized(_ transmission: Transmission, by key: [UInt8]) -> Bool {
        let bytes = transmission.signedBytes(sessionID: sessionID)
        if let verifying = VerifyingKey(spki: key) {
            return verifying.isValid(transmission.authorization, for: bytes)
        }
        guard transmission.correlationID.count == Transmission.correlationLength,
            let secret = try? self.key.wipedSecret(with: key)
        else { return false }
        let expected = MessageBox.seal(SHA512.hash(bytes), key: secret, nonce: transmission.correlationID)
        return constantTimeEqual(expected, transmission.authorization)
    }
}

/// The server's side of one connection after the hello, without input and output: blocks go in and commands come out,
/// answers go in and blocks come out.
public struct ServerSession: Sendable {
    /// A transmission of the client.
    public struct Received: Sendable {
        public let transmission: Transmission
        /// The command, or the error to answer.
        public let command: Result<Command, ServerError>

        public init(_ transmission: Transmission, _ command: Result<Command, ServerError>) {
            self.transmission = transmission
            self.command = command
        }
    }

    public let version: UInt16
    public let authority: SessionAuthority
    /// Nil if the client is a server: forwarded requests are in boxes already.
    private var blocks: BlockCipher?
    /// Encoded answers in their order.
    private var waiting: [[UInt8]] = []

    /// Reads the client's hello, its only block without encryption. If it throws, close the connection without an
    /// answer.
    /// - Parameters:
    ///   - sessionID: The channel binding.
    ///   - fingerprint: The fingerprint of the server's identity certificate.
    ///   - key: The connection's session key. The server's hello contained its public half.
    /// - Throws: `.malformed`, also for an unsupported version; `.wrongIdentity` if the client expects another server.
    public init(
        hello block: [UInt8], sessionID: [UInt8], fingerprint: [UInt8], key: AgreementKey
    ) throws(SMPError) {
        guard block.count == TransportBlock.size, let message = Padding.unpad(block),
            let hello = ClientHello(decoding: message)
        else { throw .malformed }
        guard constantTimeEqual(hello.identity, fingerprint) else {
            throw SMPError(.wrongIdentity, "A client expects another relay.")
        }
        let secret: WipedBytes
        do throws(CryptographyError) {
            secret = try key.wipedSecret(with: hello.key)
        } catch {
            throw SMPError(.malformed, "A client's key is unusable.", cause: error)
        }
        version = hello.version
        authority = SessionAuthority(sessionID: sessionID, key: key, secret: secret)
        // Forwarded requests are in boxes already.
        blocks = hello.isProxy ? nil : BlockCipher(secret: secret, sessionID: sessionID, side: .server)
    }

    /// Reads the next block. An element is nil if it is no transmission. If it throws, close the connection.
    /// - Throws: `.malformed`, `.notAuthentic`.
    public mutating func receive(_ block: [UInt8]) throws(SMPError) -> [Received?] {
        guard let transmissions = Batch.decode(try open(block)) else { throw .malformed }
        return transmissions.map { bytes in
            Transmission(decoding: bytes, version: version).map { transmission in
                Received(transmission, Command.read(transmission.body, version: version))
            }
        }
    }

    /// Queues an answer, or a notice if `correlationID` is empty.
    public mutating func submit(_ answer: Answer, correlationID: [UInt8], entityID: [UInt8]) {
        let encoded = encode(answer, correlationID, entityID)
        // Clients choose the length of their ids. A longer one would block its answer and all later ones.
        let fits = Batch.count(CollectionOfOne(encoded)) == 1
        waiting.append(fits ? encoded : encode(.error(.internalError), correlationID, entityID))
    }

    private mutating func open(_ block: [UInt8]) throws(SMPError) -> [UInt8] {
        if let content = try blocks?.open(block) { return content }
        guard block.count == TransportBlock.size, let content = Padding.unpad(block) else { throw .malformed }
        return content
    }

    private func encode(_ answer: Answer, _ correlationID: [UInt8], _ entityID: [UInt8]) -> [UInt8] {
        Transmission(
            correlationID: correlationID, entityID: entityID, body: answer.encoded(version: version)
        ).encoded(version: version)
    }

    /// Returns the next block to send, with as many answers as fit, or nil if there is none. Send the blocks in order.
    public mutating func takeBlock() -> [UInt8]? {
        let count = Batch.count(waiting)
        guard count > 0 else { return nil }
        defer { waiting.removeFirst(count) }
        let content = Batch.encode(Array(waiting[..<count]))
        if blocks != nil { return blocks?.seal(content) }
        return Padding.pad(content, to: TransportBlock.size)
    }
}

extension Command {
    /// Commands of ordinary clients that this program does not implement: notifications, services, keys of several
    /// recipients.
    private static let otherWords: Set<String> = ["NKEY", "NDEL", "NSUB", "NSUBS", "SUBS", "GET", "RKEY"]

    /// Reads the command, or returns the server's error for it.
    fileprivate static func read(_ bytes: [UInt8], version: UInt16) -> Result<Command, ServerError> {
        if let command = Command(decoding: bytes, version: version) { return .success(command) }
        let word = String(decoding: bytes.prefix { $0 != UInt8(ascii: " ") }.prefix(8), as: UTF8.self)
        if otherWords.contains(word) { return .failure(.command(.prohibited)) }
        return .failure(.command(words.contains(word) ? .syntax : .unknown))
    }

    private static let words: Set<String> = [
        "NEW", "SUB", "KEY", "ACK", "OFF", "DEL", "QUE", "LSET", "LDEL", "SKEY", "SEND", "LKEY", "LGET",
        "PING", "PRXY", "PFWD", "RFWD",
    ]
}
