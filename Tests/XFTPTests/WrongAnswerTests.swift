import Base
import Cryptography
import TestSupport
import Testing

@testable import XFTP

/// Authentic relays with unexpected responses.
@Suite("Unexpected responses")
struct WrongAnswerTests {
    private static let nonce = [UInt8](repeating: 1, count: 24)

    /// One response of each kind.
    private static let responses: [XFTPResponse] = [
        .ok, .pong, .created(sender: [1], recipients: [[2]]), .added(recipients: [[3]]),
        .file(key: AgreementKey.generate().publicKey, nonce: nonce),
    ]

    private static func buffer(_ count: Int = 65_536) -> ChunkBuffer {
        let buffer = ChunkBuffer(capacity: count)
        buffer.count = count
        return buffer
    }

    @Test("unexpected responses close the connection", arguments: responses)
    func simpleCommands(response: XFTPResponse) async throws {
        let relay = try ScriptedRelay(chunk: [])
        let client = XFTPClient.forTests()
        let key = SigningKey.generate()
        relay.forced.withLock { $0 = [response, response, response] }
        let found = [
            await code { try await client.ping(relay.address) },
            await code { try await client.delete([9], signedBy: key, on: relay.address) },
            await code { try await client.acknowledge([9], signedBy: key, on: relay.address) },
        ]
        let expected: [XFTPErrorCode?] =
            switch response {
            case .pong: [nil, .protocolViolation, .protocolViolation]
            case .ok: [.protocolViolation, nil, nil]
            default: [.protocolViolation, .protocolViolation, .protocolViolation]
            }
        #expect(found == expected)
        #expect(relay.requests.withLock { $0["forced"] } == 3, "an invalid response is not retried")
        await relay.stop()
    }

    @Test("unexpected responses to uploads and downloads", arguments: responses)
    func transfers(response: XFTPResponse) async throws {
        let relay = try ScriptedRelay(chunk: someBytes(65_536))
        let client = XFTPClient.forTests()
        relay.forced.withLock { $0 = [response] }
        let upload = await code {
            try await client.upload(Self.buffer(), to: [9], signedBy: .generate(), on: relay.address)
        }
        #expect(upload == (response == .ok ? nil : .protocolViolation))
        relay.forced.withLock { $0 = [response] }
        let counted = Lock(0)
        let download = await code {
            try await client.fetch(relay.described(), into: Self.buffer()) { count in
                counted.withLock { $0 += count }
            }
        }
        // An announced chunk that never arrives is damaged.
        if case .file = response {
            #expect(download == .damaged)
        } else {
            #expect(download == .protocolViolation)
        }
        #expect(counted.withLock { $0 } == 0)
        // Later requests succeed.
        try await client.fetch(relay.described(), into: Self.buffer())
        await relay.stop()
    }

    private func create(_ count: Int, _ client: XFTPClient, _ relay: ScriptedRelay) async throws
        -> CreatedChunkIDs
    {
        try await client.create(
            size: 65_536, digest: [UInt8](repeating: 1, count: 32), senderKey: .generate(),
            recipientKeys: (0..<count).map { _ in SigningKey.generate() }, on: relay.address)
    }

    @Test("wrong IDs of a new chunk")
    func creating() async throws {
        let relay = try ScriptedRelay(chunk: [])
        let client = XFTPClient.forTests()
        let wrong: [XFTPResponse] = [
            .created(sender: [1], recipients: [[2]]), .created(sender: [1], recipients: [[2], [3], [4]]),
            .created(sender: [], recipients: [[2], [3]]), .created(sender: [1], recipients: [[2], []]),
            .added(recipients: [[2], [3]]), .ok, .pong,
        ]
        for response in wrong {
            relay.forced.withLock { $0 = [response] }
            #expect(
                await code { _ = try await create(2, client, relay) } == .protocolViolation, "\(response)")
        }
        relay.forced.withLock { $0 = [.created(sender: [1], recipients: [[2], [3]])] }
        #expect(
            try await create(2, client, relay) == CreatedChunkIDs(senderID: [1], recipientIDs: [[2], [3]]))
        await relay.stop()
    }

    @Test("wrong IDs of added recipients")
    func addingRecipients() async throws {
        let relay = try ScriptedRelay(chunk: [])
        let client = XFTPClient.forTests()
        let first = (0..<200).map { [UInt8(1), UInt8($0)] }
        let second = (0..<200).map { [UInt8(2), UInt8($0)] }
        relay.forced.withLock {
            $0 = [
                .created(sender: [9], recipients: first), .added(recipients: second),
                .added(recipients: [[3]]),
            ]
        }
        let made = try await create(401, client, relay)
        #expect(made.recipientIDs == first + second + [[3]], "in the order of the keys")
        let wrong: [XFTPResponse] = [
            .added(recipients: [[3], [4]]), .added(recipients: [[]]),
            .created(sender: [9], recipients: [[3]]), .ok,
        ]
        for response in wrong {
            relay.forced.withLock { $0 = [.created(sender: [9], recipients: first), response] }
            #expect(
                await code { _ = try await create(201, client, relay) } == .protocolViolation, "\(response)")
        }
        await relay.stop()
    }

    @Test("only creating chunks explains a wrong password")
    func passwords() async throws {
        let relay = try ScriptedRelay(chunk: [])
        let client = XFTPClient.forTests()
        relay.forced.withLock { $0 = [.error(.authorization), .error(.authorization)] }
        let creating = await #expect(throws: XFTPError.self) { try await create(1, client, relay) }
        #expect(creating?.code == .relay(.authorization) && creating?.sentence.contains("password") == true)
        let deleting = await #expect(throws: XFTPError.self) {
            try await client.delete([9], signedBy: .generate(), on: relay.address)
        }
        #expect(deleting?.code == .relay(.authorization) && deleting?.sentence.contains("password") == false)
        await relay.stop()
    }

    @Test(
        "only temporary errors are retried",
        arguments: [
            (.timeout, 5), (.internalError, 5), (.fileIO, 5), (.session, 5), (.authorization, 1), (.quota, 1),
            (.size, 1), (.digest, 1), (.block, 1), (.command(.syntax), 1), (.blocked(reason: "spam"), 1),
            (.noFile, 1), (.handshake, 1), (.cryptography, 1),
        ] as [(XFTPProtocolError, Int)])
    func tries(error: XFTPProtocolError, count: Int) async throws {
        let relay = try ScriptedRelay(chunk: [])
        let client = XFTPClient.forTests { $0.retry.first = .milliseconds(1) }
        relay.forced.withLock { $0 = Array(repeating: .error(error), count: 10) }
        #expect(await code { try await client.ping(relay.address) } == .relay(error))
        #expect(relay.requests.withLock { $0["forced"] } == count)
        // A relay that recovers in time causes no error.
        if count > 1 {
            relay.forced.withLock { $0 = Array(repeating: .error(error), count: count - 1) }
            try await client.ping(relay.address)
        }
        await relay.stop()
    }

    @Test("HAS_FILE counts as uploaded")
    func hasFile() async throws {
        let relay = try ScriptedRelay(chunk: [])
        let client = XFTPClient.forTests()
        relay.forced.withLock { $0 = [.error(.hasFile)] }
        try await client.upload(Self.buffer(), to: [9], signedBy: .generate(), on: relay.address)
        #expect(relay.requests.withLock { $0["forced"] } == 1)
        await relay.stop()
    }

    @Test("deletion continues after a failed chunk")
    func deletion() async throws {
        let (gone, refusing, there) = (
            try ScriptedRelay(chunk: []), try ScriptedRelay(chunk: []), try ScriptedRelay(chunk: [])
        )
        let client = XFTPClient.forTests()
        gone.forced.withLock { $0 = [.error(.authorization)] }
        refusing.forced.withLock { $0 = [.error(.block)] }
        let replicas = [gone, refusing, there].map {
            FileDescription.Replica(relay: $0.address, id: [1], key: SigningKey.generate().pkcs8)
        }
        #expect(await code { try await FileDeletion.delete(replicas, client: client) } == .relay(.block))
        #expect(there.requests.withLock { $0["other"] } == 1)
        gone.forced.withLock { $0 = [.error(.authorization)] }
        try await FileDeletion.delete([replicas[0], replicas[2]], client: client)
        var broken = replicas[2]
        broken.key = [1, 2, 3]
        let failed = await code { try await FileDeletion.delete([broken, replicas[2]], client: client) }
        #expect(failed == .malformedDescription)
        #expect(there.requests.withLock { $0["other"] } == 3)
        for relay in [gone, refusing, there] { await relay.stop() }
    }
}
