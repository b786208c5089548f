import Cryptography
import TestSupport
import Testing

@testable import SMP

/// A client, a proxy and the target server, each with only the transmissions of the others.
struct Way {
    /// The session of the two servers at each end.
    let handing: HandingOn
    let authority: SessionAuthority
    /// The client's session with the target server.
    let session: ProxiedSession
    let random: SeededBytes

    init(seed: UInt64 = 1, versions: ClosedRange<UInt16> = SMPVersion.servers) throws {
        random = SeededBytes(seed)
        let farKey = AgreementKey.generate(random: random)
        let hello = try Conversation.hello(key: farKey.publicKey, versions: versions)
        let agreed = try SessionKeys.agree(
            block: #require(hello.block()), peer: Conversation.peer(of: hello), key: .generate(random: random)
        )
        handing = try #require(agreed.keys.handing)
        authority = try ServerSession(
            hello: agreed.hello, sessionID: Known.sessionID, fingerprint: Known.fingerprint, key: farKey
        ).authority
        session = try ProxiedSession(handing.server)
    }

    /// Returns the proxy's request for one of its client.
    func handedOn(_ wrapped: ProxiedSession.Request) throws -> ClientRequest {
        guard case .proxyForward(let version, let key, let box) = wrapped.outer.command else {
            throw WaitedInVain("it was wrapped as something else")
        }
        #expect(wrapped.outer.entityID == handing.server.sessionID)
        let correlationID = try #require(wrapped.outer.correlationID)
        return handing.request(
            version: version, key: key, box: box, correlationID: correlationID, random: random)
    }

    /// Returns the target server's reading of it.
    func opened(_ request: ClientRequest) throws -> HandedOn {
        guard case .relayForward(let box) = request.command else {
            throw WaitedInVain("it was handed on as something else")
        }
        return try HandedOn(box, correlationID: #require(request.correlationID), authority)
    }

    /// Returns the proxy's answer to the client.
    func forwarded(
        _ answer: Answer, to request: ClientRequest, of wrapped: ProxiedSession.Request
    ) throws -> [UInt8]? {
        guard case .handedOn(let box) = answer else { throw WaitedInVain("\(answer) is no sealed answer") }
        let correlationID = try #require(wrapped.outer.correlationID)
        guard case .forwarded(let inner)? = handing.answer(box, to: request, correlationID: correlationID)
        else { return nil }
        return inner
    }
}
