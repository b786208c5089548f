import Base
import Cryptography
import Glibc
import Posix
import TestSupport
import Testing

@testable import XFTP

/// Relays that lie, stall, disappear or send garbage.
@Suite(.serialized) struct HostileRelayTests {
    private static let chunk = someBytes(262_144)

    @Test(
        arguments: [
            (.otherSession, .wrongIdentity), (.otherSignature, .wrongIdentity),
            (.otherCertificates, .wrongIdentity), (.noHello, .relay(.handshake)),
            (.tooNewVersions, .protocolViolation), (.refusedHello, .relay(.handshake)),
        ] as [(ScriptedRelay.Fault, XFTPErrorCode)])
    func unprovenHandshakeClosesTheConnection(
        fault: ScriptedRelay.Fault, expected: XFTPErrorCode
    ) async throws {
        let relay = try ScriptedRelay(chunk: Self.chunk, handshake: fault)
        let client = XFTPClient.forTests()
        let found = await code { try await client.ping(relay.address) }
        #expect(found == expected)
        #expect(relay.connections.withLock { $0 } == 1, "tried once")
        #expect(relay.requests.withLock { $0 }.isEmpty, "nothing was asked")
        await relay.stop()
    }

    @Test(
        arguments: [
            (.flippedByte, .damaged), (.otherChunk, .damaged), (.shortChunk, .damaged), (.wrongTag, .damaged),
            (.longChunk, .protocolViolation), (.noise, .protocolViolation),
            (.otherSessionInAnswer, .protocolViolation),
            (.answering(.authorization), .relay(.authorization)), (.answering(.noFile), .relay(.noFile)),
            (.answering(.blocked(reason: "spam")), .relay(.blocked(reason: "spam"))),
        ] as [(ScriptedRelay.Fault, XFTPErrorCode)])
    func permanentErrorsAreNotRetried(
        fault: ScriptedRelay.Fault, expected: XFTPErrorCode
    ) async throws {
        let relay = try ScriptedRelay(chunk: Self.chunk, faults: [fault])
        let client = XFTPClient.forTests()
        let buffer = ChunkBuffer(capacity: Self.chunk.count)
        let progress = Lock(0)
        let found = await code {
            try await client.fetch(relay.described(), into: buffer) { count in
                progress.withLock { $0 += count }
            }
        }
        #expect(found == expected)
        #expect(relay.requests.withLock { $0["download"] } == 1)
        #expect(progress.withLock { $0 } == 0, "failed attempts are subtracted")
        await relay.stop()
    }

    @Test(
        arguments: [
            .vanishingHalfWay, .stalling, .answering(.timeout), .answering(.internalError),
            .answering(.session),
        ] as [ScriptedRelay.Fault])
    func temporaryErrorsAreRetried(fault: ScriptedRelay.Fault) async throws {
        let relay = try ScriptedRelay(chunk: Self.chunk, faults: [fault, fault])
        let client = XFTPClient.forTests {
            $0.requestDeadline = .seconds(2)
            $0.deadlinePerKiB = .zero
        }
        let buffer = ChunkBuffer(capacity: Self.chunk.count)
        let progress = Lock(0)
        try await client.fetch(relay.described(), into: buffer) { count in progress.withLock { $0 += count } }
        #expect(Array(buffer.bytes) == Self.chunk)
        #expect(relay.requests.withLock { $0["download"] } == 3)
        #expect(progress.withLock { $0 } == Self.chunk.count)
        await relay.stop()
    }

    @Test func retriesEndAtTheLimit() async throws {
        let relay = try ScriptedRelay(
            chunk: Self.chunk, faults: Array(repeating: .vanishingHalfWay, count: 50))
        let found = await code {
            try await XFTPClient.forTests().fetch(
                relay.described(), into: ChunkBuffer(capacity: Self.chunk.count))
        }
        #expect(found == .unreachable)
        #expect(relay.requests.withLock { $0["download"] } == 5, "as often as the settings say")
        await relay.stop()
    }

    @Test func honestReplicaReplacesLyingRelay() async throws {
        let liar = try ScriptedRelay(chunk: Self.chunk, faults: [.otherChunk])
        let honest = try ScriptedRelay(chunk: Self.chunk)
        var chunk = liar.described()
        chunk.replicas += honest.described().replicas
        let buffer = ChunkBuffer(capacity: Self.chunk.count)
        try await XFTPClient.forTests().fetch(chunk, into: buffer)
        #expect(Array(buffer.bytes) == Self.chunk)
        await liar.stop()
        await honest.stop()
    }

    @Test func refusedUploadClosesItsConnection() async throws {
        let relay = try ScriptedRelay(chunk: Self.chunk, faults: [.refusingUpload(.quota)])
        let client = XFTPClient.forTests()
        try await client.ping(relay.address)
        let buffer = ChunkBuffer(capacity: Self.chunk.count)
        buffer.count = Self.chunk.count
        let refused = await code {
            try await client.upload(buffer, to: [9], signedBy: .generate(), on: relay.address)
        }
        #expect(refused == .relay(.quota))
        #expect(relay.requests.withLock { $0["upload"] } == 1, "a full relay is not asked again")
        try await client.ping(relay.address)
        #expect(relay.connections.withLock { $0 } == 2)
        await relay.stop()
    }

    @Test func cancelledFetchEndsAtOnce() async throws {
        let relay = try ScriptedRelay(chunk: Self.chunk, faults: [.stalling])
        let client = XFTPClient.forTests()
        let task = Task {
            await code {
                try await client.fetch(relay.described(), into: ChunkBuffer(capacity: Self.chunk.count))
            }
        }
        try await wait(until: "the download is active") { relay.requests.withLock { $0["download"] } == 1 }
        task.cancel()
        #expect(await task.value == .cancelled)
        try await client.ping(relay.address)
        await relay.stop()
    }

    @Test func waitsForAConnectionCanBeCancelled() async throws {
        let relay = try ScriptedRelay(chunk: Self.chunk, faults: [.stalling, .stalling])
        let client = XFTPClient.forTests {
            $0.connectionsPerRelay = 1
            $0.requestsPerConnection = 1
        }
        let tasks = (0..<10).map { _ in
            Task {
                await code {
                    try await client.fetch(relay.described(), into: ChunkBuffer(capacity: Self.chunk.count))
                }
            }
        }
        try await wait(until: "one download is active") { relay.requests.withLock { $0["download"] } == 1 }
        for task in tasks { task.cancel() }
        for task in tasks { #expect(await task.value == .cancelled) }
        try await client.ping(relay.address)
        await relay.stop()
    }

    @Test func connectionAndRequestLimitsHold() async throws {
        let relay = try ScriptedRelay(chunk: Self.chunk)
        let client = XFTPClient.forTests {
            $0.connectionsPerRelay = 3
            $0.connectionsPerFarRelay = 3
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<40 {
                group.addTask {
                    try await client.fetch(relay.described(), into: ChunkBuffer(capacity: Self.chunk.count))
                }
            }
            try await group.waitForAll()
        }
        #expect((1...3).contains(relay.connections.withLock { $0 }))
        #expect(relay.requests.withLock { $0["download"] } == 40)
        try await wait(until: "idle connections are closed") { relay.openConnections == 0 }
        try await client.ping(relay.address)
        await relay.stop()
    }

    @Test func missingServerIsUnreachable() async throws {
        let address = RelayAddress(
            fingerprint: [UInt8](repeating: 1, count: 32), hosts: ["127.0.0.1"], port: 1)
        #expect(await code { try await XFTPClient.forTests().ping(address) } == .unreachable)
        let onion = RelayAddress(
            fingerprint: [UInt8](repeating: 1, count: 32), hosts: ["abc.onion"], port: 1)
        #expect(await code { try await XFTPClient.forTests().ping(onion) } == .relayNotAllowed)
    }
}
