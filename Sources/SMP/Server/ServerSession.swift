import Base
import Cryptography

/// What authorises the commands of one connection, as its server knows it.
public struct SessionAuthority: Sendable {
    public let sessionID: [UInt8]
    /// The server's key of this session.
    let key: AgreementKey
    /// Of both sides of the session; nil where nobody hands anything on.
    var secret: WipedBytes?

    /// Whether the owner of a key has authorised a command, in this session. Costs as much time whatever is wrong.
    /// - Parameter key: SubjectPublicKeyInfo, for signatures or for agreements.
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

/// One client's connection from its hello on, as a machine without input and output: blocks go in and commands come
/// out, answers go in and blocks come out.
public struct ServerSession: Sendable {
    /// What a client said.
    public struct Received: Sendable {
        public let transmission: Transmission
        /// The command, or why it is none.
        public let command: Result<Command, ServerError>

        public init(_ transmission: Transmission, _ command: Result<Command, ServerError>) {
            self.transmission = transmission
            self.command = command
        }
    }

    public let version: UInt16
    public let authority: SessionAuthority
    /// nil of a client that is a server: what it hands on is in boxes anyway.
    private var blocks: BlockCipher?
    /// Encoded answers, in the order in which they were given.
    private var waiting: [[UInt8]] = []

    /// Reads the client's only block without encryption. When it throws, the connection is to be closed without a word.
    /// - Parameters:
    ///   - sessionID: the channel binding.
    ///   - fingerprint: of the server's identity certificate.
    ///   - key: made for this connection; its public half was in the server's hello.
    /// - Throws: `.malformed`, also for a version that is not spoken here; `.wrongIdentity` when the client takes the
    ///   server for another one.
    public init(
        hello block: [UInt8], sessionID: [UInt8], fingerprint: [UInt8], key: AgreementKey
    ) throws(SMPError) {
        guard block.count == TransportBlock.size, let message = Padding.unpad(block),
            let hello = ClientHello(decoding: message)
        else { throw .malformed }
        guard constantTimeEqual(hello.identity, fingerprint) else {
            throw SMPError(.wrongIdentity, "A client takes this relay for another one.")
        }
        let secret: WipedBytes
        do throws(CryptographyError) {
            secret = try key.wipedSecret(with: hello.key)
        } catch {
            throw SMPError(.malformed, "A client's key is unusable.", cause: error)
        }
        version = hello.version
        authority = SessionAuthority(sessionID: sessionID, key: key, secret: secret)
        // What servers hand on is in boxes of its own.
        blocks = hello.isProxy ? nil : BlockCipher(secret: secret, sessionID: sessionID, side: .server)
    }

    /// What is in the next block; nil in the place of what is no transmission. When it throws, the connection is to be
    /// closed.
    /// - Throws: `.malformed`, `.notAuthentic`.
    public mutating func receive(_ block: [UInt8]) throws(SMPError) -> [Received?] {
        guard let transmissions = Batch.decode(try open(block)) else { throw .malformed }
        return transmissions.map { bytes in
            Transmission(decoding: bytes, version: version).map { transmission in
                Received(transmission, Command.read(transmission.body, version: version))
            }
        }
    }

    /// Gives the client an answer, or tells it something: `correlationID` is empty then.
    public mutating func submit(_ answer: Answer, correlationID: [UInt8], entityID: [UInt8]) {
        let encoded = encode(answer, correlationID, entityID)
        // Clients choose the length of their ids: one too many would never leave, and all behind it neither.
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

    /// The next block that is to be sent, with as many answers as it holds; nil when there is none. What it gives must
    /// be sent, in order.
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
    /// Words of ordinary clients, of which this program does not know what they want: notifications, services, keys of
    /// several recipients.
    private static let otherWords: Set<String> = ["NKEY", "NDEL", "NSUB", "NSUBS", "SUBS", "GET", "RKEY"]

    /// The command, or what a server says of what is none.
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
