import Base
import Cryptography
import Network
import TestSupport

@testable import SMP

/// A server with a configurable hello that gives every block the same answer, or none.
final class FakeServer: Sendable {
    let address: ServerAddress
    private let server: BlockServer
    private let heard: Lock<Int>

    /// - Parameters:
    ///   - isSilent: Whether it sends nothing, not even a hello.
    ///   - answersWith: The answer to each block.
    ///   - change: The fault of its hello.
    init(
        isSilent: Bool = false, answersWith: [UInt8]? = nil,
        _ change: @escaping @Sendable (inout ServerHello) -> Void = { _ in }
    ) throws {
        let identity = try NewServerIdentity.make(.ed25519, hostName: "localhost").identity
        let heard = Lock(0)
        server = try BlockServer.start(
            on: Endpoint(host: "127.0.0.1", port: 0),
            tls: TLSServerSettings(identity: identity, applicationProtocols: ["smp/1"]),
            size: TransportBlock.size, connections: 8, handshake: .seconds(60)
        ) { connection in
            let stream = connection.stream
            if !isSilent { try stream.send(Self.hello(identity, stream.channelBinding, change)) }
            var count = 0
            while !connection.isStopping {
                guard try stream.receive() != nil else {
                    stream.wait(atMost: .seconds(60))
                    continue
                }
                count += 1
                // The first block is the client's hello.
                if count > 1 {
                    heard.withLock { $0 += 1 }
                    if let answersWith { try stream.send(answersWith) }
                }
            }
        }
        self.heard = heard
        guard
            let address = ServerAddress(
                fingerprint: identity.fingerprint, hosts: ["127.0.0.1"], port: server.endpoint.port)
        else { throw WaitedInVain("an address") }
        self.address = address
    }

    private static func hello(
        _ identity: ServerIdentity, _ sessionID: [UInt8], _ change: (inout ServerHello) -> Void
    ) throws -> [UInt8] {
        let key = AgreementKey.generate().publicKey
        var hello = ServerHello(
            versions: SMPVersion.servers, sessionID: sessionID, certificates: identity.certificates,
            signedKey: SignedKey.encode(
                key: key, algorithmIdentifier: identity.kind.algorithmIdentifier,
                signature: try identity.sign(SignedKey.bytesToSign(for: key))))
        change(&hello)
        return hello.block() ?? []
    }

    /// The received request blocks.
    var blocks: Int { heard.withLock { $0 } }

    func stop() async { await server.stop() }
}
