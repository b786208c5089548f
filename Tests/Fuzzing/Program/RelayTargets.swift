import Base
import Cryptography
import Posix

@testable import Network
@testable import XFTP
@testable import XFTPRelay

extension Target {
    /// A relay with an arbitrary client.
    static let relay = [
        Target("relay-request", "requests to our relay", longest: 1024) { bytes in
            var input = Input(bytes)
            let relay = RelayFixture.shared
            relay.renewNowAndThen()
            let (session, known) = relay.begin(greeted: input.bool())
            for _ in 0..<4 where !input.isAtEnd {
                let answer = relay.ask(request(&input, known), pieces: (Int(input.byte()) + 1) << 6, session)
                hold(answer.isEmpty || answer.count >= Block.size, "an answer begins with a block")
                hold(relay.storedBytes <= RelayFixture.quota, "the quota holds")
            }
        }
    ]

    private static func request(_ input: inout Input, _ known: RelayFixture.Known) -> [UInt8] {
        let entities = [[], known.sender, known.recipient, [1, 2, 3]]
        switch input.number(below: 5) {
        case 0: return Block.pad(input.some()) ?? []
        case 1: return input.some()
        case 2: return ClientHello(version: UInt16(input.byte()), identity: known.identity).block() ?? []
        case 3:
            // A request in a valid form.
            let commands: [XFTPCommand] = [
                .ping, .upload, .delete, .acknowledge, .download(key: known.agreementKey),
                .addRecipients(keys: [known.key.publicKey]),
                .create(
                    .init(
                        senderKey: known.key.publicKey, size: 65_536, digest: known.digest,
                        recipientKeys: [known.key.publicKey], password: nil)),
            ]
            let command = commands[input.number(below: commands.count)]
            let entity = entities[input.number(below: entities.count)]
            let block = signed(command.encoded, entity, known, isSigned: input.bool())
            // Only the length of the rest matters; a complete chunk is rare.
            let count = input.number(below: 8) == 7 ? 65_536 : Int(input.byte())
            return block + (command == .upload ? [UInt8](repeating: 0, count: count) : [])
        default:
            let entity = entities[input.number(below: entities.count)]
            let isSigned = input.bool()
            return signed(input.some(), entity, known, isSigned: isSigned)
        }
    }

    private static func signed(
        _ body: [UInt8], _ entity: [UInt8], _ known: RelayFixture.Known, isSigned: Bool
    ) -> [UInt8] {
        let transmission = Transmission(sessionID: known.session, entityID: entity, body: body)
        return (isSigned ? transmission.signed(by: known.key) : transmission).block() ?? []
    }
}

/// A relay without its network, in a folder inside the process's temporary folder.
private final class RelayFixture: Sendable {
    /// The ids and keys known to a client.
    struct Known: Sendable {
        var session: [UInt8]
        var identity: [UInt8]
        var key: SigningKey
        var agreementKey: [UInt8]
        var digest: [UInt8]
        var sender: [UInt8]
        var recipient: [UInt8]
    }

    static let shared = RelayFixture()
    static let quota: UInt64 = 256 << 10
    private let place = Lock(Place())
    private let key = SigningKey.generate()
    private let agreementKey = AgreementKey.generate().publicKey
    private let digest = SHA256.hash([UInt8](repeating: 0, count: 65_536))

    private struct Place {
        var uses = 0
        var service = RelayFixture.makeService()
        /// A session after the hello.
        var session: RelaySession?
    }

    private static func makeService() -> RelayService {
        do {
            let folder = try RelayFolder(Scratch.newFolder("relay"))
            let quota = Budget(limit: Self.quota)
            return RelayService(
                settings: RelaySettings(folder: folder.folder.path, quota: Self.quota),
                identity: try IdentityFiles(folder.folder, key: nil).identity(.ed25519),
                records: try RelayRecords(path: folder.recordsPath, random: SystemRandomSource()),
                files: ChunkFiles(folder: folder, quota: quota), quota: quota)
        } catch {
            fatalError("the fixture cannot be made: \(error)")
        }
    }

    private var service: RelayService { place.withLock { $0.service } }
    var storedBytes: UInt64 { service.files.stored }

    /// Records would accumulate otherwise.
    func renewNowAndThen() {
        place.withLock { place in
            place.uses += 1
            if place.uses % 2_000 == 0 { place.service = Self.makeService() }
            // Includes announced chunks; the relay signs its hello, which takes long.
            if place.uses % 50 == 0 { place.session = nil }
        }
    }

    func begin(greeted: Bool) -> (RelaySession, Known) {
        let service = service
        let session: [UInt8] = [4, 3, 2, 1]
        var known = Known(
            session: session, identity: service.identity.fingerprint, key: key, agreementKey: agreementKey,
            digest: digest, sender: [], recipient: [])
        guard greeted else { return (RelaySession(service: service, sessionID: session), known) }
        let relay = place.withLock { $0.session } ?? greetedSession(service, session)
        place.withLock { $0.session = relay }
        let chunk = XFTPCommand.NewChunk(
            senderKey: key.publicKey, size: 65_536, digest: digest, recipientKeys: [key.publicKey],
            password: nil)
        if case .created(let sender, let recipients) = try? service.create(chunk, of: .unknown) {
            (known.sender, known.recipient) = (sender, recipients[0])
        }
        return (relay, known)
    }

    private func greetedSession(_ service: RelayService, _ id: [UInt8]) -> RelaySession {
        let relay = RelaySession(service: service, sessionID: id)
        _ = relay.shakeHands([])
        let hello = ClientHello(version: 3, identity: service.identity.fingerprint)
        _ = relay.shakeHands(hello.block() ?? [])
        hold(relay.isReady, "a proper greeting is understood")
        return relay
    }

    func ask(_ request: [UInt8], pieces: Int, _ session: RelaySession) -> [UInt8] {
        let exchange = session.requestBegan()
        var answer: (any BodySource)?
        try? request.inPieces(of: pieces) { piece in
            if answer == nil { answer = try exchange.receive(piece) }
        }
        guard let body = answer ?? (try? exchange.finish()) else {
            exchange.abandon()
            return []
        }
        var bytes = [UInt8](repeating: 0, count: body.length)
        let given = (try? bytes.withUnsafeMutableBytes { try body.read(into: $0, at: 0) }) ?? 0
        return Array(bytes.prefix(given))
    }
}
