import Base
import Cryptography
import Glibc
import Network
import TestSupport
import XFTP

/// A relay with one chunk and scripted faults.
final class ScriptedRelay: HTTP2ServerHandler {
    /// A fault instead of the correct behaviour.
    enum Fault: Sendable {
        // In the handshake, for every connection:
        case otherSession
        case otherSignature
        case otherCertificates
        case noHello
        case tooNewVersions
        case refusedHello
        // During a download:
        case flippedByte
        case otherChunk
        case shortChunk
        case longChunk
        case wrongTag
        case noise
        case otherSessionInAnswer
        case vanishingHalfWay
        case stalling
        /// Sends this many bytes of the response, then nothing until the test ends it.
        case freezing(after: Int)
        /// Takes 50 ms for each 16 KiB.
        case slow
        case answering(XFTPProtocolError)
        // During an upload:
        case refusingUpload(XFTPProtocolError)
        /// Accepts the whole chunk and breaks the connection before the response.
        case takingUploadWithoutAnswer
    }

    let chunk: [UInt8]
    let identity: ServerIdentity
    private let handshakeFault: Fault?
    /// One fault for each of the next requests; later ones succeed.
    private let faults: Lock<[Fault]>
    private let server = Lock<HTTP2Server?>(nil)
    /// The number of requests of each command.
    let requests = Lock<[String: Int]>([:])
    /// The SHA-256 of each completely uploaded chunk.
    let brought = Lock<[[UInt8]]>([])
    let connections = Lock(0)
    /// One response for each of the next requests of any kind.
    let forced = Lock<[XFTPResponse]>([])
    fileprivate let isStopped = Lock(false)

    init(chunk: [UInt8], handshake: Fault? = nil, faults: [Fault] = []) throws {
        self.chunk = chunk
        handshakeFault = handshake
        self.faults = Lock(faults)
        identity = try NewServerIdentity.make(.ed25519, hostName: "localhost").identity
        let started = try HTTP2Server.start(
            on: Endpoint(host: "127.0.0.1", port: 0), tls: TLSServerSettings(identity: identity),
            handler: self)
        server.withLock { $0 = started }
    }

    /// Stops the relay; tests call this at their end.
    func stop() async {
        isStopped.withLock { $0 = true }
        await server.withLock { $0 }?.stop()
    }

    var openConnections: Int { server.withLock { $0 }?.connectionCount ?? 0 }

    var address: RelayAddress {
        RelayAddress(
            fingerprint: identity.fingerprint, hosts: ["127.0.0.1"],
            port: server.withLock { $0 }?.endpoint.port)
    }

    /// The chunk with a recipient ID on this relay. The relay ignores signatures.
    func described(number: Int = 1) -> FileDescription.Chunk {
        .init(
            number: number, size: UInt32(chunk.count), digest: SHA256.hash(chunk),
            replicas: [.init(relay: address, id: [1], key: SigningKey.generate().pkcs8)])
    }

    func connected(channelBinding: [UInt8], from peer: PeerAddress) -> any ServerConnectionHandler {
        connections.withLock { $0 += 1 }
        return Connection(relay: self, sessionID: channelBinding)
    }

    fileprivate func nextFault() -> Fault? {
        faults.withLock { $0.isEmpty ? nil : $0.removeFirst() }
    }

    fileprivate func hello(session: [UInt8]) throws -> [UInt8] {
        let word = { (text: String) in Block.pad(Array(text.utf8)) ?? [] }
        if case .noHello = handshakeFault { return word("HANDSHAKE") }
        let other = try NewServerIdentity.make(.ed25519, hostName: "other").identity
        let key = AgreementKey.generate().publicKey
        var signer = identity
        if case .otherSignature = handshakeFault { signer = other }
        var hello = ServerHello(
            versions: 1...3, sessionID: session, certificates: identity.certificates,
            signedKey: SignedKey.encode(
                key: key, algorithmIdentifier: identity.kind.algorithmIdentifier,
                signature: try signer.sign(SignedKey.bytesToSign(for: key))))
        if case .otherSession = handshakeFault { hello.sessionID[0] ^= 1 }
        if case .otherCertificates = handshakeFault { hello.certificates = other.certificates }
        if case .tooNewVersions = handshakeFault { hello.versions = 4...9 }
        return hello.block(ending: ServerHello.noProof) ?? []
    }

    fileprivate var refusesHello: Bool {
        if case .refusedHello = handshakeFault { true } else { false }
    }
}

private final class Connection: ServerConnectionHandler {
    let relay: ScriptedRelay
    let sessionID: [UInt8]
    var requests = 0

    init(relay: ScriptedRelay, sessionID: [UInt8]) {
        self.relay = relay
        self.sessionID = sessionID
    }

    func requestBegan() -> any ServerExchange {
        requests += 1
        return Exchange(connection: self, number: requests)
    }
}

private final class Exchange: ServerExchange {
    private let connection: Connection
    private let number: Int
    private var block: [UInt8] = []
    private var chunk = SHA256()
    private var uploadFault: ScriptedRelay.Fault?

    init(connection: Connection, number: Int) {
        self.connection = connection
        self.number = number
    }

    func abandon() {}

    func receive(_ bytes: UnsafeRawBufferPointer) throws -> (any BodySource)? {
        let isNew = block.count < Block.size
        let head = Block.size - block.count
        block.append(contentsOf: bytes.prefix(head))
        if bytes.count > head { chunk.update(UnsafeRawBufferPointer(rebasing: bytes[head...])) }
        guard isNew, number > 2, block.count == Block.size else { return nil }
        let command = try XFTPCommand(decoding: try Transmission(block: block).body)
        guard case .upload = command else { return nil }
        uploadFault = connection.relay.nextFault()
        guard case .refusingUpload(let error)? = uploadFault else { return nil }
        count("upload")
        return BytesBody(answer(.error(error)))
    }

    func finish() throws -> any BodySource {
        switch number {
        case 1: return BytesBody(try connection.relay.hello(session: connection.sessionID))
        case 2:
            return BytesBody(
                connection.relay.refusesHello ? Block.pad(Array("HANDSHAKE".utf8)) ?? [] : [])
        default: return try perform(try XFTPCommand(decoding: try Transmission(block: block).body))
        }
    }

    private func count(_ name: String) { connection.relay.requests.withLock { $0[name, default: 0] += 1 } }

    private func answer(_ response: XFTPResponse, session: [UInt8]? = nil) -> [UInt8] {
        Transmission(sessionID: session ?? connection.sessionID, body: response.encoded).block() ?? []
    }

    private func perform(_ command: XFTPCommand) throws -> any BodySource {
        if let forced = connection.relay.forced.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) {
            count("forced")
            return BytesBody(answer(forced))
        }
        switch command {
        case .ping:
            count("ping")
            return BytesBody(answer(.pong))
        case .create(let chunk):
            count("create")
            return BytesBody(
                answer(.created(sender: [9], recipients: chunk.recipientKeys.map { Array($0.suffix(16)) })))
        case .download(let key):
            count("download")
            return try download(key, fault: connection.relay.nextFault())
        case .upload:
            count("upload")
            let digest = self.chunk.finalize()
            connection.relay.brought.withLock { $0.append(digest) }
            if case .takingUploadWithoutAnswer? = uploadFault {
                return BrokenBody([0], at: 0, stalls: false)
            }
            return BytesBody(answer(.ok))
        default:
            count("other")
            return BytesBody(answer(.ok))
        }
    }

    private func download(_ key: [UInt8], fault: ScriptedRelay.Fault?) throws -> any BodySource {
        if case .answering(let error) = fault { return BytesBody(answer(.error(error))) }
        if case .noise = fault { return BytesBody([UInt8](repeating: 0xff, count: 20_000)) }
        let agreement = AgreementKey.generate()
        let nonce = SystemRandomSource().bytes(24)
        var session = connection.sessionID
        if case .otherSessionInAnswer = fault { session[0] ^= 1 }
        var chunk = connection.relay.chunk
        switch fault {
        case .flippedByte: chunk[100] ^= 1
        case .otherChunk: chunk = someBytes(chunk.count, seed: 99)
        case .shortChunk: chunk.removeLast(1000)
        case .longChunk: chunk += [1, 2, 3]
        default: break
        }
        var box = try StreamBox(key: try agreement.sharedSecret(with: key), nonce: nonce)
        chunk.withUnsafeMutableBytes { box.seal($0) }
        var tag = box.tag()
        if case .wrongTag = fault { tag[0] ^= 1 }
        let body = answer(.file(key: agreement.publicKey, nonce: nonce), session: session) + chunk + tag
        switch fault {
        case .vanishingHalfWay: return BrokenBody(body, at: body.count / 2, stalls: false)
        case .stalling: return BrokenBody(body, at: body.count / 2, stalls: true)
        case .freezing(let count):
            return PacedBody(body, freezingAt: count, isStopped: connection.relay.isStopped)
        case .slow: return PacedBody(body, freezingAt: nil, isStopped: connection.relay.isStopped)
        default: return BytesBody(body)
        }
    }
}

/// Sends the first part of a body, then breaks the connection or stalls.
private final class BrokenBody: BodySource {
    private struct Vanished: Error {}

    private let bytes: [UInt8]
    private let end: Int
    private let stalls: Bool

    init(_ bytes: [UInt8], at end: Int, stalls: Bool) {
        self.bytes = bytes
        self.end = end
        self.stalls = stalls
    }

    var length: Int { bytes.count }

    func read(into buffer: UnsafeMutableRawBufferPointer, at start: Int) throws -> Int {
        guard start < end else {
            if stalls { sleep(4) }
            throw Vanished()
        }
        let count = min(buffer.count, end - start)
        bytes.withUnsafeBytes { buffer.copyMemory(from: .init(rebasing: $0[start..<start + count])) }
        return count
    }
}

/// Sends a body slowly, or only up to a position.
private final class PacedBody: BodySource {
    private struct Stopped: Error {}

    private let bytes: [UInt8]
    private let end: Int?
    private let isStopped: Lock<Bool>

    init(_ bytes: [UInt8], freezingAt end: Int?, isStopped: Lock<Bool>) {
        self.bytes = bytes
        self.end = end
        self.isStopped = isStopped
    }

    var length: Int { bytes.count }

    func read(into buffer: UnsafeMutableRawBufferPointer, at start: Int) throws -> Int {
        if end == nil { usleep(50_000) }
        while start >= end ?? .max, !isStopped.withLock({ $0 }) { usleep(10_000) }
        if isStopped.withLock({ $0 }) { throw Stopped() }
        let count = min(buffer.count, 16_384, (end ?? bytes.count) - start)
        bytes.withUnsafeBytes { buffer.copyMemory(from: .init(rebasing: $0[start..<start + count])) }
        return count
    }
}
