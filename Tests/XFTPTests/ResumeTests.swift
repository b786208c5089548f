import Base
import Cryptography
import Glibc
import Posix
import TestSupport
import Testing

@testable import XFTP

/// Interrupted transfers resume.
@Suite(.serialized) struct ResumeTests {
    /// Fails after `count` bytes, like a bad disk or network filesystem.
    private struct FailingSource: UploadSource {
        let bytes: [UInt8]
        let limit: UInt64
        /// Called before it fails.
        var untilReady: @Sendable () -> Bool = { true }
        var size: UInt64 { UInt64(bytes.count) }

        func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws -> Int {
            guard offset + UInt64(buffer.count) <= limit else {
                for _ in 0..<12_000 where !untilReady() { usleep(5_000) }
                throw SystemError(code: EIO, operation: "read a file")
            }
            return MemorySource(bytes: bytes).read(into: buffer, at: offset)
        }
    }

    private static let bytes = someBytes(13_000_000)

    /// Uploads the first two chunks and stops.
    private static func interrupted(
        _ relay: LocalRelay, client: XFTPClient, abandoned: FileUpload.AbandonedChunks
    ) async throws -> UploadState {
        let state = Lock<UploadState?>(nil)
        let failed = await code {
            _ = try await FileUpload.run(
                FailingSource(
                    bytes: bytes, limit: 10_000_000, untilReady: { relay.relay.storedBytes >= 8_388_608 }),
                fileName: "a", recipients: 2,
                relays: [relay.address], client: client, abandoned: abandoned,
                save: { saved in state.withLock { $0 = saved } })
        }
        #expect(failed == .source)
        return try #require(state.withLock { $0 })
    }

    @Test func uploadResumesFromSavedState() async throws {
        let relay = try LocalRelay()
        let client = XFTPClient.forTests()
        let state = try await Self.interrupted(relay, client: client, abandoned: .keep)
        let before = relay.relay.storedBytes
        #expect(before == 8_388_608)
        #expect(state.chunks.count == 2)
        // Existing chunks are not uploaded again.
        let uploaded = try await FileUpload.run(
            MemorySource(bytes: Self.bytes), fileName: "a", recipients: 2, relays: [relay.address],
            client: client, state: state)
        #expect(relay.relay.storedBytes == uploaded.sender.size)
        for chunk in state.chunks where chunk.isUploaded {
            let id = Base64URL.decode(chunk.senderID)
            #expect(uploaded.sender.chunks[chunk.index].replicas[0].id == id)
        }
        for description in uploaded.recipients {
            #expect(try await download(description, client).1 == Self.bytes)
        }
    }

    @Test func chunkWithoutRecordIsCreatedAgain() async throws {
        let relay = try LocalRelay()
        let client = XFTPClient.forTests()
        var state = try await Self.interrupted(relay, client: client, abandoned: .keep)
        for var chunk in state.chunks {
            chunk.isUploaded = false
            chunk.senderID = Base64URL.encode([UInt8](repeating: 0, count: 16))
            state.put(chunk)
        }
        let uploaded = try await FileUpload.run(
            MemorySource(bytes: Self.bytes), fileName: "a", recipients: 2, relays: [relay.address],
            client: client, state: state)
        #expect(try await download(uploaded.recipients[1], client).1 == Self.bytes)
    }

    /// A failing local disk is no reason to upload a chunk again.
    @Test func unsavedRecordDoesNotRepeatTheUpload() async throws {
        let relay = try LocalRelay()
        let client = XFTPClient.forTests()
        let bytes = someBytes(60_000)
        let saves = Lock<[UploadState]>([])
        let earlier = await code {
            _ = try await FileUpload.run(
                FailingSource(bytes: bytes, limit: 0), fileName: "a", recipients: 1, relays: [relay.address],
                client: client, save: { state in saves.withLock { $0.append(state) } })
        }
        #expect(earlier == .source)
        var state = try #require(saves.withLock { $0.last })
        let uploaded = try await FileUpload.run(
            MemorySource(bytes: bytes), fileName: "a", recipients: 1, relays: [relay.address], client: client,
            state: state, save: { state in saves.withLock { $0.append(state) } })
        state = try #require(saves.withLock { $0.last })
        try await FileDeletion.run(uploaded.sender, client: client)
        #expect(relay.relay.storedBytes == 0 && state.chunks.count == 1)
        // A record on the relay without its bytes.
        let (sender, recipient) = (SigningKey.generate(), SigningKey.generate())
        let digest = try #require(Base64URL.decode(state.chunks[0].digest))
        let size = uploaded.sender.chunks[0].size
        let created = try await client.create(
            size: size, digest: digest, senderKey: sender, recipientKeys: [recipient], on: relay.address)
        state.put(
            UploadState.CreatedChunk(
                index: 0, relay: relay.address, created: created, senderKey: sender,
                recipientKeys: [recipient], digest: digest))
        let isFirst = Lock(true)
        let failed = await code {
            _ = try await FileUpload.run(
                MemorySource(bytes: bytes), fileName: "a", recipients: 1, relays: [relay.address],
                client: client, state: state,
                save: { _ in
                    let isFirst = isFirst.withLock { isFirst in
                        defer { isFirst = false }
                        return isFirst
                    }
                    guard isFirst else { throw SystemError(code: ENOSPC, operation: "write a file") }
                    // Wait until the next save is due.
                    usleep(600_000)
                })
        }
        #expect(failed == .storage)
        #expect(relay.relay.storedBytes == UInt64(size))
    }

    @Test func failedSaveIsRepeated() async throws {
        let saved = Lock<[Int]>([])
        let fails = Lock(true)
        let records = UploadRecords(
            UploadState(fileName: "a", size: 1, recipients: 1, random: SystemRandomSource())
        ) { state in
            if fails.withLock({ $0 }) { throw SystemError(code: EIO, operation: "write a file") }
            saved.withLock { $0.append(state.chunks.count) }
        }
        let key = SigningKey.generate()
        let failed = await code {
            try await records.put(
                UploadState.CreatedChunk(
                    index: 0,
                    relay: RelayAddress(
                        fingerprint: [UInt8](repeating: 1, count: 32), hosts: ["a"], port: nil),
                    created: CreatedChunkIDs(senderID: [1], recipientIDs: [[2]]), senderKey: key,
                    recipientKeys: [key], digest: [3]))
        }
        #expect(failed == .storage)
        fails.withLock { $0 = false }
        try await records.flush()
        #expect(saved.withLock { $0 } == [1])
        // Nothing is left to save.
        try await records.flush()
        #expect(saved.withLock { $0 } == [1])
    }

    @Test func invalidRecordDoesNotStopDeletion() async throws {
        let relay = try LocalRelay()
        let client = XFTPClient.forTests()
        var state = try await Self.interrupted(relay, client: client, abandoned: .keep)
        var damaged = state.chunks[0]
        damaged.senderKey = "?"
        state.put(damaged)
        let failed = await code { try await FileUpload.delete(state, client: client) }
        #expect(failed == .wrongState)
        #expect(relay.relay.storedBytes == 4_194_304)
    }

    @Test func uploadRejectsStateOfAnotherFile() async throws {
        let relay = try LocalRelay()
        let client = XFTPClient.forTests()
        let state = try await Self.interrupted(relay, client: client, abandoned: .keep)
        let otherSize = await code {
            _ = try await FileUpload.run(
                MemorySource(bytes: [1]), fileName: "a", recipients: 2, relays: [relay.address],
                client: client,
                state: state)
        }
        #expect(otherSize == .wrongState)
        var changed = Self.bytes
        changed[5] ^= 1
        let other = MemorySource(bytes: changed)
        let otherContent = await code {
            _ = try await FileUpload.run(
                other, fileName: "a", recipients: 2, relays: [relay.address], client: client, state: state)
        }
        #expect(otherContent == .source, "a key never seals two files")
    }

    @Test func abandonedUploadLeavesNoChunks() async throws {
        let relay = try LocalRelay()
        let client = XFTPClient.forTests()
        let state = try await Self.interrupted(relay, client: client, abandoned: .delete)
        #expect(relay.relay.storedBytes == 0)
        #expect(!"\(state)".contains(state.key))
        // Neither does an upload that is discarded later.
        let kept = try await Self.interrupted(relay, client: client, abandoned: .keep)
        await FileUpload.discard(kept, client: client)
        #expect(relay.relay.storedBytes == 0)
    }

    @Test func cancelledUploadDeletesItsChunks() async throws {
        let relay = try LocalRelay()
        let client = XFTPClient.forTests()
        let bytes = someBytes(40_000_000)
        let address = relay.address
        let sent = Lock<UInt64>(0)
        let task = Task {
            await code {
                _ = try await FileUpload.run(
                    MemorySource(bytes: bytes), fileName: "a", recipients: 1, relays: [address],
                    client: client,
                    abandoned: .delete, progress: { done, _ in sent.withLock { $0 = done } })
            }
        }
        try await wait(until: "a part was sent") { sent.withLock { $0 } > 1_000_000 }
        task.cancel()
        #expect(await task.value == .cancelled)
        #expect(relay.relay.storedBytes == 0)
    }

    @Test func downloadReusesValidBytesOnly() async throws {
        let relay = try LocalRelay()
        let client = XFTPClient.forTests()
        let folder = try TemporaryFolder()
        let uploaded = try await FileUpload.run(
            MemorySource(bytes: Self.bytes), fileName: "a.bin", recipients: 1, relays: [relay.address],
            client: client)
        let description = uploaded.recipients[0]
        func destination() throws -> PlainFileDestination {
            try PlainFileDestination(folder: folder.path, for: description) { header, attempt in
                attempt < 5 ? "\(attempt) \(header.name)" : nil
            }
        }
        // An earlier attempt left about 9 MB, with a flipped bit in the second chunk.
        let part = try #require(
            try { () -> String? in
                _ = try destination()
                return try folder.names().first
            }())
        #expect(part.hasPrefix(".chatfs-"))
        var earlier = Array(Self.bytes.prefix(9_000_000))
        earlier[5_000_000] ^= 1
        try folder.write(earlier, to: part)
        let received = Lock<UInt64>(0)
        let first = try destination()
        #expect(throws: XFTPError.self, "one process at a time") { try destination() }
        let header = try await FileDownload.run(description, client: client, to: first) { done, _ in
            received.withLock { $0 = done }
        }
        #expect(header.contentSize == UInt64(Self.bytes.count))
        #expect(first.finalName == "1 a.bin")
        #expect(try folder.read("1 a.bin") == Self.bytes)
        #expect(received.withLock { $0 } == description.size)
        #expect(try folder.names() == ["1 a.bin"], "no part file stays")
        // A second download gets another name and replaces nothing.
        let second = try destination()
        try await FileDownload.run(description, client: client, to: second)
        #expect(try folder.names() == ["1 a.bin", "2 a.bin"])
    }

    @Test func failedDownloadLeavesNoNamedFile() async throws {
        let relay = try LocalRelay()
        let client = XFTPClient.forTests()
        let folder = try TemporaryFolder()
        let uploaded = try await FileUpload.run(
            MemorySource(bytes: Self.bytes), fileName: "a", recipients: 1, relays: [relay.address],
            client: client)
        // Every chunk is valid, but the digest is that of another file.
        var description = uploaded.recipients[0]
        description.digest[0] ^= 1
        let destination = try PlainFileDestination(folder: folder.path, for: description) { _, _ in "a" }
        let failed = await code { try await FileDownload.run(description, client: client, to: destination) }
        #expect(failed == .damaged)
        #expect(destination.finalName == nil)
        #expect(try folder.names().allSatisfy { $0.hasSuffix(".part") })
        destination.discard()
        #expect(try folder.names().isEmpty)
    }
}
