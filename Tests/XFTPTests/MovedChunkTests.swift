import Base
import Cryptography
import TestSupport
import Testing

@testable import XFTP

@Suite("Chunks moved to another relay")
struct MovedChunkTests {
    private static let bytes = someBytes(60_000)

    private static func upload(
        to relays: [RelayAddress], client: XFTPClient, state: UploadState? = nil,
        save: @escaping @Sendable (UploadState) throws -> Void = { _ in }
    ) async throws -> UploadedFile {
        try await FileUpload.run(
            MemorySource(bytes: bytes), fileName: "a", recipients: 1, relays: relays, client: client,
            state: state, save: save)
    }

    @Test("the record on the first relay is deleted")
    func recordIsDeleted() async throws {
        let full = try ScriptedRelay(chunk: [], faults: [.refusingUpload(.quota)])
        let other = try LocalRelay()
        let client = XFTPClient.forTests()
        let uploaded = try await Self.upload(to: [full.address, other.address], client: client)
        #expect(uploaded.sender.chunks[0].replicas.map(\.relay) == [other.address])
        try await wait(until: "the record is deleted") { full.requests.withLock { $0["other"] } == 1 }
        #expect(full.requests.withLock { $0["create"] } == 1)
        // The described chunks exist.
        #expect(try await download(uploaded.recipients[0], client).1 == Self.bytes)
        await full.stop()
    }

    @Test("an unreachable relay does not delay the upload")
    func relayIsGone() async throws {
        let broken = try ScriptedRelay(chunk: [], faults: [.refusingUpload(.digest)])
        let other = try LocalRelay()
        let client = XFTPClient.forTests { $0.requestDeadline = .seconds(600) }
        let saved = Lock<UploadState?>(nil)
        let uploaded = try await Self.upload(
            to: [broken.address, other.address], client: client,
            save: { state in saved.withLock { $0 = state } })
        await broken.stop()
        #expect(try await download(uploaded.recipients[0], client).1 == Self.bytes)
        // The saved state names the valid record.
        let state = try #require(saved.withLock { $0 })
        #expect(state.chunks.map(\.relay) == [other.address.text] && state.chunks[0].isUploaded)
        try await FileUpload.delete(state, client: client)
        #expect(other.relay.storedBytes == 0)
    }

    @Test("a saved record is kept until it is replaced")
    func keptWhileItCounts() async throws {
        let relay = try ScriptedRelay(chunk: [], faults: Array(repeating: .refusingUpload(.digest), count: 2))
        let client = XFTPClient.forTests()
        let saved = Lock<UploadState?>(nil)
        let failed = await code {
            _ = try await Self.upload(
                to: [relay.address], client: client, save: { state in saved.withLock { $0 = state } })
        }
        #expect(failed == .relay(.digest))
        let state = try #require(saved.withLock { $0 })
        #expect(state.chunks.count == 1 && !state.chunks[0].isUploaded)
        #expect(relay.requests.withLock { $0["other"] } == nil, "it may be resumed")
        // The next attempt uses another relay, so the record is no longer needed.
        let other = try LocalRelay()
        let uploaded = try await Self.upload(to: [other.address], client: client, state: state)
        try await wait(until: "the record is deleted") { relay.requests.withLock { $0["other"] } == 1 }
        #expect(try await download(uploaded.recipients[0], client).1 == Self.bytes)
        await relay.stop()
    }

    @Test("replaced records are returned once")
    func records() async throws {
        let records = UploadRecords(
            UploadState(fileName: "a", size: 1, recipients: 1, random: SeededBytes(1))
        ) { _ in }
        func chunk(_ index: Int, _ id: UInt8, host: String = "a", isUploaded: Bool = false)
            -> UploadState.CreatedChunk
        {
            var chunk = UploadState.CreatedChunk(
                index: index,
                relay: RelayAddress(fingerprint: [UInt8](repeating: 1, count: 32), hosts: [host], port: nil),
                created: CreatedChunkIDs(senderID: [id], recipientIDs: [[id]]), senderKey: .generate(),
                recipientKeys: [.generate()], digest: [3])
            chunk.isUploaded = isUploaded
            return chunk
        }
        for record in [chunk(0, 1), chunk(1, 1), chunk(0, 1, isUploaded: true)] {
            try await records.put(record)
        }
        #expect(records.takeReplaced().isEmpty)
        for record in [chunk(0, 2), chunk(0, 3), chunk(1, 1, host: "b")] { try await records.put(record) }
        let replaced = records.takeReplaced()
        #expect(replaced.map(\.index) == [0, 0, 1])
        #expect(replaced.map(\.senderID) == [[UInt8(1)], [2], [1]].map { Base64URL.encode($0) })
        #expect(records.takeReplaced().isEmpty)
        #expect(records.state.chunks.count == 2)
    }
}
