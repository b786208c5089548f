import Base
import Cryptography
import Network

/// Runs the connections of a `PhoneListener` on their threads, from the TLS handshake to the end of the session.
final class SessionOpening: Sendable {
    private struct State {
        var machine = SessionMachine()
        var connections = 0
        var server: ReversedServer?
    }

    private let settings: PhoneListenerSettings
    private let pairing: Pairing
    private let remember: @Sendable (Pairing.Phone) throws -> Void
    private let observe: @Sendable (PhoneListenerEvent) -> Void
    private let session = SigningKey.generate()
    private let agreement = AgreementKey.generate()
    private let state = Lock(State())

    init(
        settings: PhoneListenerSettings, pairing: Pairing,
        remember: @escaping @Sendable (Pairing.Phone) throws -> Void,
        observe: @escaping @Sendable (PhoneListenerEvent) -> Void
    ) {
        self.settings = settings
        self.pairing = pairing
        self.remember = remember
        self.observe = observe
    }

    func begun(_ server: ReversedServer) { state.withLock { $0.server = server } }

    /// The content of the link.
    var host: String { settings.advertisedHost ?? settings.endpoint.host }

    func link(port: UInt16, time: Int64) throws(RemoteControlError) -> String {
        let invitation = Invitation(
            authority: pairing.authority.fingerprint,
            host: host,
            port: settings.advertisedPort ?? port, versions: settings.versions, name: settings.name,
            time: time, agreementKey: agreement.publicKey)
        return try invitation.link(session: session, identity: pairing.identity)
    }

    func announcement(of link: String) throws(RemoteControlError) -> [UInt8]? {
        guard let phone = pairing.phone else { return nil }
        return try Announcement.packet(link, key: agreement, phone: phone.agreementKey)
    }

    /// Whether no phone has connected yet.
    var isWaiting: Bool { state.withLock { $0.machine.phase == .waiting } }

    func serve(_ connection: ReversedConnection) {
        let (number, step) = state.withLock { state in
            state.connections += 1
            return (state.connections, state.machine.connected(state.connections))
        }
        guard step == .confirm else { return }
        do {
            let opened = try confirm(connection, number)
            let failure = connection.makeRequests(authority: "0.0.0.0") { client in
                observe(.connected(PhoneConnection(client, opened, timeout: settings.timeout)))
            }
            _ = state.withLock { $0.machine.ended(number) }
            observe(.ended(failure))
        } catch {
            let step = state.withLock { $0.machine.ended(number) }
            observe(.gaveUp(Self.reason(error)))
            // The answer to the hello failed, and no more connections are accepted.
            if step == .end { observe(.ended(error as? NetworkError)) }
        }
    }

    /// From the code to the answer of the hello.
    private func confirm(_ connection: ReversedConnection, _ number: Int) throws -> OpenedSession {
        let blocks = connection.blocks
        guard blocks.peerCertificates.count == 2 else {
            throw RemoteControlError(.identity, "The phone showed no identity.")
        }
        let authority = SHA256.hash(blocks.peerCertificates[1])
        observe(.confirm(SessionCode(channelBinding: blocks.channelBinding)))
        let end = ContinuousClock.now + settings.confirmation
        var block: [UInt8]?
        while block == nil {
            if connection.isStopping { throw RemoteControlError(.cancelled, "The session was given up.") }
            block = try blocks.receive()
            let left = ContinuousClock.now.duration(to: end)
            guard left > .zero else {
                throw RemoteControlError(.timeout, "The code was not confirmed on the phone in time.")
            }
            if block == nil { blocks.wait(atMost: left) }
        }
        let hello = try PhoneHello(
            block ?? [], key: agreement, authority: authority, versions: settings.versions)
        try remember(
            Pairing.Phone(
                authority: authority, agreementKey: hello.agreementKey, deviceName: hello.app.deviceName))
        let answer = try ControllerHello(
            answering: hello, encapsulate: ControllerHello.encapsulate(to:))
        let (step, server) = state.withLock { ($0.machine.greeted(number), $0.server) }
        guard step == .begin else {
            throw RemoteControlError(.cancelled, "Another session has begun.")
        }
        server?.takeNoMore()
        try blocks.send(answer.block)
        return OpenedSession(
            phone: hello.app, hello: answer,
            signer: MessageSigner(
                channelBinding: blocks.channelBinding, session: session, identity: pairing.identity))
    }

    private static func reason(_ error: any Error) -> RemoteControlError {
        if let error = error as? RemoteControlError { return error }
        return RemoteControlError(.closed, sentence(of: error), cause: error)
    }
}
