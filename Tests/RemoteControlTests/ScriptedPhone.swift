import Base
import COpenSSL
import Cryptography
import Glibc
import Posix

@testable import Network
@testable import RemoteControl

/// A phone on a thread of its own: connects to a link, shows a code, sends its hello, and answers requests as its
/// script says. A small independent implementation, which shares only the key derivation with `RemoteControl`.
final class ScriptedPhone: @unchecked Sendable {
    // Safe: the state shared by the phone's thread and the test is in `shared`.

    /// Returns an answer, or nil to withhold it until `release`.
    typealias Script = @Sendable (_ json: String, _ attachment: [UInt8]?) -> (json: String, file: [UInt8]?)?

    struct Shared {
        var resets = 0
        var requests: [String] = []
        var isFrozen = false
        var isLeaving = false
        var failure: (any Error)?
        var hasEnded = false
        /// Sends the withheld answers.
        var isReleased = false
        /// Called with the bytes of a request so far, on the phone's thread.
        var arrives: @Sendable (Int) -> Void = { _ in }
        /// The same with the bytes of an answer.
        var sends: @Sendable (Int) -> Void = { _ in }
        /// Gives up the requests whose answers it withholds.
        var givesUp = false
        /// Unanswered requests for an event, and their maximum so far.
        var waitingForEvent = 0
        var mostWaitingForEvent = 0
    }

    let shared = Lock(Shared())
    let authority: CertificateAuthority
    let agreement = AgreementKey.generate()
    private(set) var code: SessionCode?
    private let link: PhoneLink
    private let blocks: BlockStream
    private let wakeUp: WakeUp
    let stream: TLSStream
    var encoding = "kotlin"
    var version = "6.4.5.1"
    var encryptsFiles = false
    private let script: Script

    /// Connects and performs the TLS handshake.
    /// - Parameter chain: The certificates and the leaf's key, or nil for those of `authority`.
    init(
        link text: String, authority: CertificateAuthority? = nil, showsNothing: Bool = false,
        extra: CertificateAuthority? = nil, script: @escaping Script
    ) throws {
        guard let link = PhoneLink(text) else { throw NetworkError(.configuration, "badInvitation") }
        self.link = link
        self.script = script
        self.authority = try authority ?? .make()
        wakeUp = try WakeUp()
        let context = try TLSContext(
            client: TLSClientSettings(identityFingerprint: link.authority, applicationProtocols: []))
        if !showsNothing {
            let leaf = try self.authority.leaf()
            let certificates = leaf.certificates + (extra.map { [$0.certificate] } ?? [])
            let chain = certificates.compactMap { Certificate(der: $0) }
            SSL_CTX_use_certificate(context.pointer, chain[0].pointer)
            SSL_CTX_use_PrivateKey(context.pointer, leaf.key.pointer)
            for certificate in chain.dropFirst() {
                _ = chatfs_ssl_ctx_add1_chain_cert(context.pointer, certificate.pointer)
            }
        }
        let addresses = try SocketAddress.resolve(
            Endpoint(host: link.host, port: link.port), numericOnly: false)
        let deadline = Deadline(after: .seconds(60))
        let socket = try Socket.connect(to: addresses, deadline: deadline, stop: wakeUp)
        stream = try TLSStream(context: context, socket: socket, isClient: true)
        while try !stream.handshake() {
            guard !deadline.hasPassed else { throw NetworkError(.timeout, "handshake") }
            _ = try socket.wait(for: Int16(POLLIN), until: deadline, stop: wakeUp)
        }
        guard stream.peerCertificates.count == 2, SHA256.hash(stream.peerCertificates[1]) == link.authority
        else { throw NetworkError(.identity, "another computer") }
        blocks = BlockStream(stream, size: 16_384, wakeUp: wakeUp)
    }

    var channelBinding: [UInt8] { stream.channelBinding }

    /// Waits for the end of the connection without a hello.
    func waitForEnd() -> (any Error)? {
        let deadline = Deadline(after: .seconds(60))
        while !deadline.hasPassed {
            do {
                if try blocks.receive() != nil { return nil }
            } catch { return error }
            blocks.wait(atMost: .seconds(1))
        }
        return nil
    }

    /// The user confirms: sends the hello, reads the answer, and serves on a thread.
    func confirm() throws {
        let kem = try PhoneKEM()
        let shared = try agreement.sharedSecret(with: link.agreementKey)
        let app =
            #"{"appVersion":"\#(version)","deviceName":"Telephone","encoding":"\#(encoding)","encryptFiles":\#(encryptsFiles)}"#
        let json =
            #"{"v":1,"ca":"\#(Base64URL.encode(authority.fingerprint))","app":\#(app),"#
            + #""kem":"\#(Base64URL.encode(kem.publicKey))"}"#
        let nonce = SystemRandomSource().bytes(24)
        let box = MessageBox.seal(
            Array(json.utf8), paddedTo: 12_288, key: WipedBytes(shared), nonce: nonce)!
        var hello = Array("HELLO ".utf8)
        hello.append(byteString: agreement.publicKey)
        try blocks.send(Padding.pad(hello + nonce + box, to: 16_384)!)
        let answer = try receiveBlock()
        var reader = ByteReader(Padding.unpad(answer) ?? [])
        guard reader.bytes(6) == Array("HELLO ".utf8), let ciphertext = reader.large() else {
            throw NetworkError(.protocolViolation, "no hello")
        }
        // The controller sends with the first chain.
        var chains = MessageChain.begin(
            agreement: WipedBytes(shared), encapsulated: WipedBytes(kem.decapsulate(ciphertext)))
        let key = chains.sending.next()
        guard MessageBox.openPadded(reader.rest(), key: key.key, nonce: key.nonce) == Array("{}".utf8) else {
            throw NetworkError(.protocolViolation, "another secret")
        }
        let server = PhoneServer(
            phone: self, channelBinding: channelBinding, session: link.session, identity: link.identity,
            script: script, requests: chains.sending, answers: chains.receiving)
        Thread.start("scripted-phone") { [self] in
            do { try server.serve(stream, wakeUp: wakeUp) } catch {
                self.shared.withLock { $0.failure = error }
            }
            stream.shutDown()
            _ = shutdown(stream.socket.descriptor, Int32(SHUT_RDWR))
            self.shared.withLock { $0.hasEnded = true }
        }
    }

    private func receiveBlock() throws -> [UInt8] {
        let deadline = Deadline(after: .seconds(60))
        while !deadline.hasPassed {
            if let block = try blocks.receive() { return block }
            blocks.wait(atMost: .seconds(1))
        }
        throw NetworkError(.timeout, "no block")
    }

    /// Leaves before or after the hello.
    func leave() {
        shared.withLock { $0.isLeaving = true }
        wakeUp.notify()
    }

    /// Without close_notify, as when its process is killed.
    func hangUp() { _ = shutdown(stream.socket.descriptor, Int32(SHUT_RDWR)) }

    /// Aborts the TCP connection.
    func abort() {
        var address = sockaddr()
        address.sa_family = sa_family_t(AF_UNSPEC)
        _ = connect(stream.socket.descriptor, &address, socklen_t(MemoryLayout<sockaddr>.size))
    }

    func freeze(_ isFrozen: Bool) {
        shared.withLock { $0.isFrozen = isFrozen }
        wakeUp.notify()
    }

    func release() {
        shared.withLock { $0.isReleased = true }
        wakeUp.notify()
    }

    func giveUp() {
        shared.withLock { $0.givesUp = true }
        wakeUp.notify()
    }
}

/// A body in memory that reports its progress.
private final class WatchedBody: BodySource {
    private let body: BytesBody
    private let sends: @Sendable (Int) -> Void

    init(_ bytes: [UInt8], sends: @escaping @Sendable (Int) -> Void) {
        body = BytesBody(bytes)
        self.sends = sends
    }

    var length: Int { body.length }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> Int {
        let count = body.read(into: buffer, at: offset)
        sends(offset + count)
        return count
    }
}

/// The phone's end of HTTP/2, on its thread.
private final class PhoneServer: HTTP2SessionEvents, @unchecked Sendable {
    // Safe: created on one thread and then used on the phone's thread only.

    private let phone: ScriptedPhone
    private let channelBinding: [UInt8]
    private let keys: (session: VerifyingKey, identity: VerifyingKey)
    private let script: ScriptedPhone.Script
    private var requests: ReceivingChain
    private var answers: MessageChain
    private var answered: UInt32 = 0
    private var bodies: [Int32: [UInt8]] = [:]
    private var held: [(stream: Int32, json: String, file: [UInt8]?)] = []
    private var waitingForEvent: Set<Int32> = []
    private var session: HTTP2Session?

    init(
        phone: ScriptedPhone, channelBinding: [UInt8], session: VerifyingKey, identity: VerifyingKey,
        script: @escaping ScriptedPhone.Script, requests: MessageChain, answers: MessageChain
    ) {
        self.phone = phone
        self.channelBinding = channelBinding
        keys = (session, identity)
        self.script = script
        self.requests = ReceivingChain(requests)
        self.answers = answers
    }

    func serve(_ connection: TLSStream, wakeUp: WakeUp) throws {
        let session = try HTTP2Session(role: .server, events: self)
        self.session = session
        let driver = ConnectionDriver(stream: connection, session: session, wakeUp: wakeUp)
        while true {
            let shared = phone.shared.withLock { $0 }
            if shared.isLeaving { return }
            if shared.isFrozen {
                usleep(20_000)
                continue
            }
            if shared.givesUp {
                for stream in held.map(\.stream) { try Self.reset(stream, of: connection) }
                held = []
                phone.shared.withLock { $0.givesUp = false }
            }
            if shared.isReleased {
                // Requests without an answer are held.
                var left: [(stream: Int32, json: String, file: [UInt8]?)] = []
                for (stream, json, file) in held {
                    if let answer = script(json, file) {
                        try reply(stream, answer)
                    } else {
                        left.append((stream, json, file))
                    }
                }
                held = left
            }
            let step = try driver.step()
            if step.hasEnded { return }
            if step.isIdle { try driver.wait(until: Deadline(after: .milliseconds(200))) }
        }
    }

    /// Sends RST_STREAM with INTERNAL_ERROR between two frames, as the app does after 60 silent seconds.
    private static func reset(_ stream: Int32, of connection: TLSStream) throws {
        var frame: [UInt8] = [0, 0, 4, 3, 0]
        frame.append(bigEndian: stream)
        frame.append(bigEndian: UInt32(2))
        try frame.withUnsafeBytes { try connection.write($0) }
    }

    func headersArrived(stream: Int32, status: Int?) { bodies[stream] = [] }

    func bodyArrived(stream: Int32, bytes: UnsafeRawBufferPointer) {
        bodies[stream]? += Array(bytes)
        phone.shared.withLock { $0.arrives }(bodies[stream]?.count ?? 0)
    }

    func streamClosed(stream: Int32, error: UInt32) {
        if error != 0 { phone.shared.withLock { $0.resets += 1 } }
    }

    func messageEnded(stream: Int32) throws {
        var body = ByteReader(bodies.removeValue(forKey: stream) ?? [])
        guard let number = body.integer(UInt32.self), let length = body.integer(UInt32.self),
            let sealed = body.bytes(Int(length)), let signature = body.byteString(),
            let identitySignature = body.byteString()
        else { throw NetworkError(.protocolViolation, "no request") }
        var signed: [UInt8] = []
        signed.append(bigEndian: number)
        signed.append(bigEndian: length)
        signed += sealed
        guard keys.session.isValid(signature, for: SHA512.hash(signed)),
            keys.identity.isValid(identitySignature, for: SHA512.hash(signed + signature))
        else { throw NetworkError(.protocolViolation, "ctrlAuth") }
        let key = try requests.keys(of: number)
        var plain = ByteReader(try Self.open(sealed, key.body))
        guard plain.byteString() == channelBinding else {
            throw NetworkError(.protocolViolation, "pRESessionCode")
        }
        let json = String(decoding: plain.rest(), as: UTF8.self)
        var file: [UInt8]?
        if body.remaining > 0 {
            guard body.byte() == 1, let size = body.integer(UInt32.self), Int(size) == body.remaining else {
                throw NetworkError(.protocolViolation, "no attachment")
            }
            file = try Self.open(body.rest(), key.attachment)
        }
        if json.contains(#""type":"recv""#) { waitingForEvent.insert(stream) }
        phone.shared.withLock { [waiting = waitingForEvent.count] shared in
            shared.requests.append(json)
            shared.waitingForEvent = waiting
            shared.mostWaitingForEvent = max(shared.mostWaitingForEvent, waiting)
        }
        guard let answer = script(json, file) else { return held.append((stream, json, file)) }
        try reply(stream, answer)
    }

    private func reply(_ stream: Int32, _ answer: (json: String, file: [UInt8]?)) throws {
        if waitingForEvent.remove(stream) != nil { phone.shared.withLock { $0.waitingForEvent -= 1 } }
        answered += 1
        let (body, attachment) = (answers.next(), answers.next())
        var plain: [UInt8] = []
        plain.append(byteString: channelBinding)
        let sealed = try Self.seal(plain + Array(answer.json.utf8), body)
        var bytes: [UInt8] = []
        bytes.append(bigEndian: answered)
        bytes.append(bigEndian: UInt32(sealed.count))
        bytes += sealed
        if let file = answer.file {
            let sealed = try Self.seal(file, attachment)
            bytes.append(1)
            bytes.append(bigEndian: UInt32(sealed.count))
            bytes += sealed
        }
        let sends = phone.shared.withLock { $0.sends }
        try session?.submitResponse(stream: stream, body: WatchedBody(bytes, sends: sends))
    }

    private static func open(_ sealed: [UInt8], _ key: BoxKey) throws -> [UInt8] {
        var box = try StreamBox(key: key.key.bytes, nonce: key.nonce)
        var plain = Array(sealed.dropLast(16))
        plain.withUnsafeMutableBytes { box.open($0) }
        guard box.isAuthentic(Array(sealed.suffix(16))) else {
            throw NetworkError(.protocolViolation, "decrypt")
        }
        return plain
    }

    private static func seal(_ plain: [UInt8], _ key: BoxKey) throws -> [UInt8] {
        var box = try StreamBox(key: key.key.bytes, nonce: key.nonce)
        var sealed = plain
        sealed.withUnsafeMutableBytes { box.seal($0) }
        return sealed + box.tag()
    }
}
