import Base
import TestSupport
import Testing

@testable import Cryptography
@testable import SMP

@Suite("Forwarded requests")
struct HandingOnTests {
    private static func carried() throws -> [Command] {
        try Command.all().filter { ProxiedSession.carries($0) }
    }

    private static func sender() throws -> CommandKey { .signing(try Known.signing(7)) }

    @Test("pass the proxy unread in both directions", arguments: SMPVersion.servers)
    func thereAndBack(version: UInt16) throws {
        let way = try Way(versions: version...version)
        for command in try Self.carried() {
            let request = ClientRequest(
                command, of: Known.senderID, key: try Self.sender(), timeout: .seconds(4))
            let wrapped = try way.session.wrap(request, random: way.random)
            #expect(wrapped.outer.timeout == .seconds(8), "two servers have to answer")
            let handed = try way.handedOn(wrapped)
            let arrived = try way.opened(handed)
            #expect(arrived.received.command == .success(command))
            #expect(arrived.received.transmission.entityID == Known.senderID)
            #expect(
                way.authority.isAuthorized(arrived.received.transmission, by: try Self.sender().publicKey))
            let answer: Answer =
                switch command {
                case .linkKey, .linkGet:
                    .link(senderID: Known.senderID, data: LinkBlobs(fixed: [1], user: [2]))
                default: .ok
                }
            for given in [answer, .error(.quota)] {
                let sealed = arrived.sealed(given)
                let box = try #require(try way.forwarded(sealed, to: handed, of: wrapped))
                #expect(try way.session.open(box, of: wrapped) == given)
            }
            // The same length for any content.
            guard case .proxyForward(_, _, let box) = wrapped.outer.command else { continue }
            #expect(box.count == 16_226 + MessageBox.tagLength)
        }
    }

    @Test("other commands are prohibited, and malformed ones are refused")
    func prohibited() throws {
        let way = try Way()
        for command in try Command.all() where !ProxiedSession.carries(command) {
            let wrapped = try way.session.wrap(
                ClientRequest(command, of: Known.recipientID, key: try Self.sender()), random: way.random)
            let arrived = try way.opened(try way.handedOn(wrapped))
            #expect(arrived.received.command == .failure(.command(.prohibited)), "\(command)")
        }
    }

    @Test("the client refuses answers to other requests")
    func wrongAnswers() throws {
        let way = try Way()
        let wrapped = try way.session.wrap(
            ClientRequest(.send(flags: [], body: [1]), of: Known.senderID), random: way.random)
        let handed = try way.handedOn(wrapped)
        let arrived = try way.opened(handed)
        for answer in try Answer.all() {
            let box = try #require(try way.forwarded(arrived.sealed(answer), to: handed, of: wrapped))
            switch answer {
            case .ok, .error: #expect(try way.session.open(box, of: wrapped) == answer)
            default: expect(.malformed) { try way.session.open(box, of: wrapped) }
            }
        }
        // The answer to another pending request of the client.
        let other = try way.session.wrap(ClientRequest(.linkGet, of: Known.senderID), random: way.random)
        let otherHanded = try way.handedOn(other)
        let otherArrived = try way.opened(otherHanded)
        let otherBox = try #require(
            try way.forwarded(otherArrived.sealed(.error(.quota)), to: otherHanded, of: other))
        expect(.notAuthentic) { try way.session.open(otherBox, of: wrapped) }
        // The proxy cannot exchange them either.
        guard case .handedOn(let sealed) = otherArrived.sealed(.error(.quota)) else { return }
        #expect(handing(way, sealed, to: handed, of: wrapped) == nil)
    }

    private func handing(
        _ way: Way, _ box: [UInt8], to request: ClientRequest, of wrapped: ProxiedSession.Request
    ) -> Answer? {
        way.handing.answer(box, to: request, correlationID: wrapped.outer.correlationID ?? [])
    }

    @Test("the next receiver detects any changed bit")
    func damage() throws {
        let way = try Way()
        let wrapped = try way.session.wrap(
            ClientRequest(.send(flags: [], body: [1]), of: Known.senderID), random: way.random)
        let handed = try way.handedOn(wrapped)
        guard case .relayForward(let outer) = handed.command, let nonce = handed.correlationID,
            case .handedOn(let back) = try way.opened(handed).sealed(.ok)
        else { throw WaitedInVain("it was handed on as something else") }
        var generator = SeededGenerator(state: 5)
        for _ in 0..<60 {
            var changed = outer
            let place = Int.random(in: 0..<changed.count, using: &generator)
            changed[place] ^= 1 << UInt8.random(in: 0...7, using: &generator)
            #expect(throws: ServerError.cryptography) {
                try HandedOn(changed, correlationID: nonce, way.authority)
            }
            changed = back
            changed[place % changed.count] ^= 1
            #expect(handing(way, changed, to: handed, of: wrapped) == nil)
        }
        for correlationID in [[], nonce.reversed(), nonce + [0], Array(nonce.dropLast())] {
            #expect(throws: ServerError.cryptography) {
                try HandedOn(outer, correlationID: correlationID, way.authority)
            }
        }
        // For another server, and in another session with the same one.
        let others = [try Way(seed: 2), try Way(seed: 3)]
        for other in others {
            #expect(throws: ServerError.cryptography) {
                try HandedOn(outer, correlationID: nonce, other.authority)
            }
        }
        // The client gets the same error for its box.
        guard case .forwarded(var inner)? = handing(way, back, to: handed, of: wrapped) else { return }
        inner[100] ^= 1
        expect(.notAuthentic) { try way.session.open(inner, of: wrapped) }
        for short in [[], [1], Array(inner.prefix(16))] {
            expect(.notAuthentic) { try way.session.open(short, of: wrapped) }
        }
    }

    /// A hostile proxy's request.
    private func forged(
        _ way: Way, correlationID: [UInt8] = Known.correlationID, version: UInt16 = 17, key: [UInt8]? = nil,
        box: [UInt8]
    ) throws -> HandedOn {
        let request = way.handing.request(
            version: version, key: try key ?? Known.agreement(8).publicKey, box: box,
            correlationID: correlationID, random: way.random)
        return try way.opened(request)
    }

    @Test("the outer box is verified before its use")
    func outerBox() throws {
        let way = try Way()
        for correlationID in [[], [UInt8](repeating: 1, count: 23), [UInt8](repeating: 1, count: 25)] {
            #expect(throws: ServerError.command(.syntax)) {
                try forged(way, correlationID: correlationID, box: [])
            }
        }
        for version in [UInt16(0), 14, 18, .max] {
            #expect(throws: ServerError.command(.syntax)) { try forged(way, version: version, box: []) }
        }
        #expect(throws: ServerError.command(.syntax)) {
            try forged(way, key: Known.signing(1).publicKey, box: [])
        }
        // A key of small order, and a box for no key.
        let zero = KeyForm.x25519Public.encode([UInt8](repeating: 0, count: 32))
        #expect(throws: ServerError.cryptography) { try forged(way, key: zero, box: [1]) }
        #expect(throws: ServerError.cryptography) {
            try forged(way, box: [UInt8](repeating: 1, count: 16_242))
        }
    }

    @Test("the client's box holds exactly one transmission")
    func innerBox() throws {
        let way = try Way()
        let key = try Known.agreement(8)
        guard let signed = SignedKey(way.handing.server.signedKey) else { return }
        let secret = try key.wipedSecret(with: signed.key)
        let ping = Transmission(
            correlationID: Known.correlationID, entityID: [], body: Command.linkGet.encoded(version: 17)
        ).encoded(version: 17)
        func arrive(_ content: [UInt8]) throws -> HandedOn {
            let box = try #require(
                MessageBox.seal(content, paddedTo: 16_226, key: secret, nonce: Known.correlationID))
            return try forged(way, key: key.publicKey, box: box)
        }
        #expect(try arrive(Batch.encode([ping])).received.command == .success(.linkGet))
        for content in [
            [], [0], Batch.encode([ping, ping]), Batch.encode([ping]) + [0], Batch.encode([[]]),
            Batch.encode([[1, 7, UInt8(ascii: "1")]]),
        ] {
            #expect(throws: ServerError.block) { try arrive(content) }
        }
        let nonsense = Transmission(
            correlationID: Known.correlationID, entityID: [], body: Array("DANCE".utf8)
        )
        .encoded(version: 17)
        #expect(try arrive(Batch.encode([nonsense])).received.command == .failure(.command(.syntax)))
    }

    @Test("requests too long for a proxy have an error")
    func lengths() throws {
        let way = try Way()
        func wrap(_ count: Int) throws -> ProxiedSession.Request {
            try way.session.wrap(
                ClientRequest(
                    .send(flags: [], body: [UInt8](repeating: 1, count: count)), of: Known.senderID,
                    key: try Self.sender()), random: way.random)
        }
        // Finds the maximum length by bisection.
        var (good, bad) = (15_000, 17_000)
        _ = try wrap(good)
        expect(.tooLong) { try wrap(bad) }
        while bad - good > 1 {
            let middle = (good + bad) / 2
            if (try? wrap(middle)) != nil { good = middle } else { bad = middle }
        }
        expect(.tooLong) { try wrap(good + 1) }
        let arrived = try way.opened(try way.handedOn(try wrap(good)))
        guard case .success(.send(_, let body)) = arrived.received.command else {
            throw WaitedInVain("it came as something else")
        }
        #expect(body.count == good && good > 16_000, "a message of an agent fits")
        expect(.tooLong) { try wrap(70_000) }
    }

    @Test("the proxy gets an error for an oversized answer")
    func longAnswer() throws {
        let way = try Way()
        let wrapped = try way.session.wrap(
            ClientRequest(.linkGet, of: Known.senderID), random: way.random)
        let arrived = try way.opened(try way.handedOn(wrapped))
        let data = LinkBlobs(fixed: [], user: [UInt8](repeating: 1, count: 16_300))
        #expect(arrived.sealed(.link(senderID: Known.senderID, data: data)) == .error(.block))
    }

    @Test("equal requests are unlinkable and hide the client")
    func unlinkable() throws {
        let way = try Way()
        let request = ClientRequest(.send(flags: [], body: [1]), of: Known.senderID)
        let (one, other) = (
            try way.session.wrap(request, random: way.random),
            try way.session.wrap(request, random: way.random)
        )
        #expect(one.outer.correlationID != other.outer.correlationID && one.outer.key == nil)
        guard case .proxyForward(_, let firstKey, let first) = one.outer.command,
            case .proxyForward(_, let secondKey, let second) = other.outer.command
        else { return }
        #expect(firstKey != secondKey && first != second)
    }

    @Test("an ordinary client has no forwarding secret")
    func noSecret() throws {
        let way = try Way()
        var authority = way.authority
        authority.secret = nil
        let wrapped = try way.session.wrap(ClientRequest(.linkGet), random: way.random)
        let handed = try way.handedOn(wrapped)
        guard case .relayForward(let box) = handed.command, let nonce = handed.correlationID else { return }
        #expect(throws: ServerError.cryptography) { try HandedOn(box, correlationID: nonce, authority) }
    }
}
