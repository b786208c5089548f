import Base
import Cryptography
import FoundationEssentials
import TestSupport
import Testing

@testable import XFTP

/// The saved state of an upload, also after tampering.
@Suite struct UploadStateTests {
    private static let relay = RelayAddress(Vectors.address)!

    private static func state(random seed: UInt64 = 1) -> UploadState {
        UploadState(fileName: "a.txt", size: 5, recipients: 2, random: SeededBytes(seed))
    }

    private static func chunk(_ index: Int, id: UInt8 = 3) throws -> UploadState.CreatedChunk {
        UploadState.CreatedChunk(
            index: index, relay: relay,
            created: CreatedChunkIDs(senderID: [id, 1], recipientIDs: [[id, 2], [id, 3]]),
            senderKey: try SigningKey(seed: Vectors.senderSeed),
            recipientKeys: [
                try SigningKey(seed: Vectors.recipientSeed), try SigningKey(seed: Vectors.senderSeed),
            ], digest: [9, 9])
    }

    @Test func stateRoundTripsWithItsOwnKey() throws {
        var state = Self.state()
        try state.put(Self.chunk(0))
        try state.put(Self.chunk(4))
        let bytes = try JSONEncoder().encode(state)
        let read = try JSONDecoder().decode(UploadState.self, from: bytes)
        #expect(read.isOf(fileName: "a.txt", size: 5, recipients: 2))
        #expect(read.keyBytes == state.keyBytes && read.nonceBytes == state.nonceBytes)
        #expect(read.keyBytes.count == 32 && read.nonceBytes.count == 24)
        #expect(read.chunk(0)?.senderReplica == state.chunk(0)?.senderReplica)
        #expect(read.chunk(4)?.recipientReplica(1) == state.chunk(4)?.recipientReplica(1))
        #expect(read.chunk(1) == nil && read.chunks.count == 2)
        #expect(Self.state(random: 2).keyBytes != state.keyBytes)
    }

    @Test func stateBelongsToFileAndRecipients() {
        let state = Self.state()
        #expect(!state.isOf(fileName: "b.txt", size: 5, recipients: 2))
        #expect(!state.isOf(fileName: "a.txt", size: 6, recipients: 2))
        #expect(!state.isOf(fileName: "a.txt", size: 5, recipients: 1))
    }

    @Test func newRecordReplacesTheOld() throws {
        var state = Self.state()
        try state.put(Self.chunk(1))
        #expect(state.chunk(1)?.isUploaded == false)
        var uploaded = try Self.chunk(1, id: 7)
        uploaded.isUploaded = true
        state.put(uploaded)
        #expect(state.chunks.count == 1 && state.chunk(1)?.isUploaded == true)
        #expect(state.chunk(1)?.senderReplica?.id == [7, 1])
    }

    @Test func replicasHaveTheirOwnersKeys() throws {
        let chunk = try Self.chunk(0)
        let sender = try #require(chunk.senderReplica)
        #expect(try sender.id == [3, 1] && sender.key == SigningKey(seed: Vectors.senderSeed).pkcs8)
        let first = try #require(chunk.recipientReplica(0))
        #expect(try first.id == [3, 2] && first.key == SigningKey(seed: Vectors.recipientSeed).pkcs8)
        #expect(chunk.recipientReplica(1)?.id == [3, 3] && sender.relay == Self.relay)
        #expect(chunk.recipientReplica(2) == nil && chunk.recipientReplica(-1) == nil)
    }

    @Test func changedRecordsGiveNoReplica() throws {
        let good = try Self.chunk(0)
        let long = Base64URL.encode([UInt8](repeating: 1, count: 256))
        let changes: [(inout UploadState.CreatedChunk) -> Void] = [
            { $0.relay = "xftp://nobody" }, { $0.relay = "" }, { $0.senderID = "!" }, { $0.senderID = long },
            { $0.senderKey = "!" },
        ]
        for change in changes {
            var chunk = good
            change(&chunk)
            #expect(chunk.senderReplica == nil)
        }
        let others: [(inout UploadState.CreatedChunk) -> Void] = [
            { $0.relay = "" }, { $0.recipientIDs[0] = "!" }, { $0.recipientIDs[0] = long },
            { $0.recipientKeys[0] = "!" }, { $0.recipientIDs = [] }, { $0.recipientKeys = [] },
        ]
        for change in others {
            var chunk = good
            change(&chunk)
            #expect(chunk.recipientReplica(0) == nil)
        }
        var text = String(decoding: try JSONEncoder().encode(Self.state()), as: UTF8.self)
        let key = Base64URL.encode(Self.state().keyBytes)
        text = text.replacing(key, with: String(key.dropLast(4)))
        let short = try JSONDecoder().decode(UploadState.self, from: Data(text.utf8))
        #expect(!short.isOf(fileName: "a.txt", size: 5, recipients: 2), "its key was truncated")
    }

    @Test func descriptionHidesKeys() throws {
        var state = Self.state()
        try state.put(Self.chunk(0))
        var dumped = ""
        dump(state, to: &dumped)
        for text in ["\(state)", String(reflecting: state), dumped] {
            #expect(!text.contains(state.key) && !text.contains(state.chunks[0].senderKey))
        }
        #expect("\(state)" == "UploadState(1 chunks)")
    }

    @Test func lastStateIsSavedAndErrorsAreReported() async throws {
        let saved = Lock<[Int]>([])
        let records = UploadRecords(Self.state()) { state in saved.withLock { $0.append(state.chunks.count) }
        }
        try await records.flush()
        #expect(saved.withLock { $0 } == [0], "an upload is known before its first chunk is made")
        try await records.flush()
        #expect(saved.withLock { $0.count } == 1)
        try await withThrowingTaskGroup { group in
            for index in 0..<20 {
                group.addTask { try await records.put(Self.chunk(index)) }
            }
            try await group.waitForAll()
        }
        try await records.flush()
        #expect(saved.withLock { $0.last } == 20 && records.state.chunks.count == 20)

        struct Full: Error {}
        let full = UploadRecords(Self.state()) { _ in throw Full() }
        let error = await #expect(throws: XFTPError.self) { try await full.flush() }
        #expect(error?.code == .storage && error?.cause is Full)
        #expect(error?.sentence.hasPrefix("The state of the upload could not be saved: ") == true)
    }
}
