import Base
import Cryptography
import Network
import TestSupport
import XFTP
import XFTPRelay

/// A relay in this process with its own folder and a manual clock.
final class RelayPlace: Sendable {
    let folder: TemporaryFolder
    let relay: Relay
    let clock: HandClock

    init(
        folder: TemporaryFolder? = nil, clock: HandClock = HandClock(),
        _ change: (inout RelaySettings) -> Void = { _ in }
    ) throws {
        self.folder = try folder ?? TemporaryFolder()
        self.clock = clock
        var settings = RelaySettings(folder: self.folder.path("relay"), clock: clock)
        change(&settings)
        relay = try Relay.start(settings)
    }

    func connect() async throws -> RelayTalk { try await RelayTalk(relay.address) }
}

/// A clock that only tests advance. Starts at 2026-01-01 00:30 UTC.
final class HandClock: WallClock {
    private let time = Lock(Timestamp(seconds: 1_767_227_400))
    func now() -> Timestamp { time.withLock { $0 } }
    func advance(by duration: Duration) { time.withLock { $0 = $0.advanced(by: duration) } }
}

/// Plain protocol exchanges with a relay, without the client's retries.
struct RelayTalk: Sendable {
    let client: HTTP2Client
    let hello: ServerHello

    /// Connects and performs the handshake.
    init(_ address: RelayAddress) async throws {
        client = try await Self.dial(address)
        let answer = try await Self.post([], to: client)
        guard let message = Block.unpad(answer), let hello = ServerHello(decoding: message) else {
            throw WaitedInVain("the relay said no hello")
        }
        self.hello = hello
        let choice = ClientHello(version: 3, identity: address.fingerprint)
        guard try await Self.post(choice.block() ?? [], to: client).isEmpty else {
            throw WaitedInVain("the relay refused the handshake")
        }
    }

    static func dial(_ address: RelayAddress) async throws -> HTTP2Client {
        try await HTTP2Client.connect(
            to: Endpoint(host: address.hosts[0], port: address.port),
            tls: TLSClientSettings(identityFingerprint: address.fingerprint), timeout: .seconds(30))
    }

    static func post(_ body: [UInt8], to client: HTTP2Client) async throws -> [UInt8] {
        let answer = CollectedBody(limit: 8 << 20)
        try await client.send(BytesBody(body), to: answer, deadline: .seconds(60))
        return answer.bytes
    }

    /// Returns the block of a command.
    func block(
        _ command: XFTPCommand, entity: [UInt8] = [], key: SigningKey? = nil,
        correlation: [UInt8] = [], session: [UInt8]? = nil
    ) -> [UInt8] {
        var transmission = Transmission(
            sessionID: session ?? client.channelBinding, correlationID: correlation, entityID: entity,
            body: command.encoded)
        if let key { transmission.signature = key.sign(transmission.signedBytes) }
        return transmission.block() ?? []
    }

    /// Sends raw bytes. Returns the response transmission and the bytes after it.
    func exchange(_ bytes: [UInt8]) async throws -> (transmission: Transmission, rest: [UInt8]) {
        let answer = try await Self.post(bytes, to: client)
        return (try Transmission(block: answer), Array(answer.dropFirst(Block.size)))
    }

    /// Returns the response to a command.
    func ask(
        _ command: XFTPCommand, entity: [UInt8] = [], key: SigningKey? = nil, body: [UInt8] = []
    ) async throws -> XFTPResponse {
        let (transmission, _) = try await exchange(block(command, entity: entity, key: key) + body)
        guard let response = XFTPResponse(decoding: transmission.body) else {
            throw WaitedInVain("the relay gave no answer of the protocol")
        }
        return response
    }
}

/// A chunk with its keys, on the sender's side.
struct TestChunk: Sendable {
    let bytes: [UInt8]
    let sender = SigningKey.generate()
    let recipients: [SigningKey]
    var senderID: [UInt8] = []
    var recipientIDs: [[UInt8]] = []

    init(size: Int = 65_536, recipients: Int = 1) {
        bytes = SystemRandomSource().bytes(size)
        self.recipients = (0..<recipients).map { _ in SigningKey.generate() }
    }

    func announcement(password: String? = nil, digest: [UInt8]? = nil) -> XFTPCommand {
        .create(
            .init(
                senderKey: sender.publicKey, size: UInt32(bytes.count),
                digest: digest ?? SHA256.hash(bytes), recipientKeys: recipients.map(\.publicKey),
                password: password.map { Array($0.utf8) }))
    }

    /// FNEW. Stores the IDs.
    mutating func create(on talk: RelayTalk, password: String? = nil) async throws {
        guard
            case .created(let sender, let recipients) = try await talk.ask(
                announcement(password: password), key: sender)
        else { throw WaitedInVain("the relay made no record") }
        senderID = sender
        recipientIDs = recipients
    }

    /// FPUT.
    func put(on talk: RelayTalk, body: [UInt8]? = nil) async throws -> XFTPResponse {
        try await talk.ask(.upload, entity: senderID, key: sender, body: body ?? bytes)
    }

    /// FGET. Returns the bytes or the error.
    func get(
        on talk: RelayTalk, recipient: Int = 0
    ) async throws -> Result<[UInt8], XFTPProtocolError> {
        let key = AgreementKey.generate()
        let request = talk.block(
            .download(key: key.publicKey), entity: recipientIDs[recipient], key: recipients[recipient])
        var (transmission, rest) = try await talk.exchange(request)
        switch XFTPResponse(decoding: transmission.body) {
        case .file(let relayKey, let nonce):
            var box = try StreamBox(key: key.sharedSecret(with: relayKey), nonce: nonce)
            let tag = Array(rest.suffix(StreamBox.tagLength))
            rest.removeLast(StreamBox.tagLength)
            rest.withUnsafeMutableBytes { box.open($0) }
            guard box.isAuthentic(tag) else { throw WaitedInVain("a download is damaged") }
            return .success(rest)
        case .error(let error): return .failure(error)
        default: throw WaitedInVain("the relay gave no file")
        }
    }
}
