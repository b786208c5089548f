import Base
import Cryptography
import Network
import XFTP

/// One connection to the relay: the handshake, then commands (XFTP protocol, "Transport handshake"). Runs on the
/// connection's thread.
final class RelaySession: ServerConnectionHandler {
    private enum State {
        /// The first request is empty and asks for the hello.
        case silent
        /// The hello was sent; the client must choose a version.
        case greeted
        case ready
    }

    let service: RelayService
    /// The TLS channel binding, part of every transmission and of the signed bytes.
    private let sessionID: [UInt8]
    private var state = State.silent
    private let peer: PeerAddress
    private let place: FairSemaphore<PeerAddress>.Member

    init(service: RelayService, sessionID: [UInt8], peer: PeerAddress = .unknown) {
        self.service = service
        self.sessionID = sessionID
        self.peer = peer
        place = FairSemaphore.Member(of: peer)
    }

    func requestBegan() -> any ServerExchange { RelayExchange(session: self) }

    var isReady: Bool { state == .ready }

    // MARK: Handshake

    /// Returns the response to a handshake request: the hello, an empty response, or HANDSHAKE.
    func shakeHands(_ request: [UInt8]) -> [UInt8] {
        let refusal = Block.pad(Array(XFTPProtocolError.handshake.text.utf8)) ?? []
        switch state {
        case .silent where request.isEmpty:
            // The client gets no details.
            guard let hello = try? hello() else { return refusal }
            state = .greeted
            return hello
        case .greeted:
            guard let message = Block.unpad(request), let hello = ClientHello(decoding: message),
                hello.identity == service.identity.fingerprint,
                XFTPVersion.supported.contains(hello.version)
            else { return refusal }
            state = .ready
            return []
        default: return refusal
        }
    }

    private func hello() throws(NetworkError) -> [UInt8]? {
        // Commands are signed, so the private key is never used.
        let key = AgreementKey.generate().publicKey
        let signature = try service.identity.sign(SignedKey.bytesToSign(for: key))
        return ServerHello(
            versions: XFTPVersion.supported, sessionID: sessionID,
            certificates: service.identity.certificates,
            signedKey: SignedKey.encode(
                key: key, algorithmIdentifier: service.identity.kind.algorithmIdentifier,
                signature: signature)
        ).block(ending: ServerHello.noProof)
    }

    // MARK: Commands

    /// Decodes a block and authorizes its command, in this connection's turn.
    func examine(_ block: [UInt8]) -> Examined { service.turns.withTurn(of: place) { examineNow(block) } }

    private func examineNow(_ block: [UInt8]) -> Examined {
        var transmission = Transmission(sessionID: sessionID, body: [])
        do {
            transmission = try Transmission(block: block)
            guard transmission.sessionID == sessionID else { throw XFTPProtocolError.session }
            let command = try XFTPCommand(decoding: transmission.body)
            // A key of the wrong kind is a syntax error, which precedes all other errors.
            var agreement: (box: StreamBox, response: XFTPResponse)?
            if case .download(let key) = command { agreement = try service.agree(with: key) }
            let subject = try service.authorise(command, transmission)
            return .request(
                Request(
                    command: command, subject: subject, agreement: agreement, transmission: transmission))
        } catch {
            return .refused(answer(.error(RelayService.refusal(of: error)), to: transmission))
        }
    }

    enum Examined {
        case request(Request)
        case refused([UInt8])
    }

    struct Request {
        let command: XFTPCommand
        let subject: RelayService.Subject
        let agreement: (box: StreamBox, response: XFTPResponse)?
        let transmission: Transmission
    }

    /// Performs any command but FPUT, in this connection's turn.
    func perform(_ request: Request) -> any BodySource {
        service.turns.withTurn(of: place) { performNow(request) }
    }

    private func performNow(_ request: Request) -> any BodySource {
        do {
            switch (request.command, request.subject) {
            case (.ping, _): return BytesBody(answer(.pong, to: request.transmission))
            case (.create(let chunk), _):
                return BytesBody(
                    answer(try service.create(chunk, of: peer), to: request.transmission))
            case (.addRecipients(let keys), .sender(let record)):
                return BytesBody(
                    answer(try service.addRecipients(keys, to: record), to: request.transmission))
            case (.delete, .sender(let record)):
                return BytesBody(answer(try service.delete(record), to: request.transmission))
            case (.acknowledge, .recipient):
                return BytesBody(
                    answer(
                        try service.acknowledge(request.transmission.entityID), to: request.transmission))
            case (.download, .recipient(let record)):
                guard let agreement = request.agreement else { throw XFTPProtocolError.internalError }
                let file = try service.open(record)
                return ChunkDownload(
                    block: answer(agreement.response, to: request.transmission), file: file,
                    size: record.size, box: agreement.box)
            default: throw XFTPProtocolError.authorization
            }
        } catch {
            return BytesBody(answer(.error(RelayService.refusal(of: error)), to: request.transmission))
        }
    }

    /// Returns an unsigned response block with the session and IDs of the request.
    func answer(_ response: XFTPResponse, to request: Transmission) -> [UInt8] {
        let transmission = Transmission(
            sessionID: sessionID, correlationID: request.correlationID, entityID: request.entityID,
            body: response.encoded)
        return transmission.block() ?? []
    }
}
