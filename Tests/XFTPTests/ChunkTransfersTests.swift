import Base
import TestSupport
import Testing

@testable import XFTP

/// Downloads that share the limits of one client.
@Suite struct ChunkTransfersTests {
    /// Fetches its chunks for ever.
    private final class EndlessDownload: ChunkRequester {
        let tasks = TaskSet()
        let fetches = Lock(0)
        /// Whether each ended fetch was cancelled.
        let ends = Lock<[Bool]>([])

        func started(_ chunk: Int) -> Bool { true }

        func fetch(_ fetch: GrantedFetch) async throws {
            fetches.withLock { $0 += 1 }
            try await Task.sleep(for: .seconds(10_000))
        }

        func failed(_ chunk: Int, _ error: any Error, wasCancelled: Bool) {
            ends.withLock { $0.append(wasCancelled) }
        }
    }

    @Test func removedDownloadEndsItsFetches() async throws {
        let transfers = ChunkTransfers(settings: FetchSettings())
        let download = EndlessDownload()
        let layout = try #require(ChunkLayout([ChunkPlace(size: 65_536, relay: "relay")]))
        var requests = FetchRequests()
        (requests.demand, requests.isWanted) = ([0], true)
        transfers.update(download, layout, requests)
        transfers.schedule()
        try await wait(until: "it is fetched") { download.fetches.withLock { $0 } == 1 }
        #expect(transfers.load.files == 1 && transfers.load.chunks == 1)
        transfers.remove(download)
        transfers.schedule()
        try await wait(until: "it has ended") { download.ends.withLock { $0 } == [true] }
        #expect(transfers.load.files == 0 && transfers.load.chunks == 0)
    }

    @Test func downloadsShareTheMemoryForChunks() async throws {
        let relay = try LocalRelay()
        let client = XFTPClient.forTests {
            ($0.fetching.bytesInFlight, $0.fetching.bytesForDemand) = (1, 0)
            // A slow first byte on a busy machine would make the relay far, which adds memory.
            ($0.fetching.stalledAfter, $0.fetching.farAfter) = (.seconds(10_000), .seconds(10_000))
        }
        let bytes = someBytes(9_000_000)
        let uploaded = try await FileUpload.run(
            MemorySource(bytes: bytes), fileName: "a", recipients: 2, relays: [relay.address], client: client)
        let most = Lock(0)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for description in uploaded.recipients {
                group.addTask {
                    let destination = MemoryDestination()
                    try await FileDownload.run(description, client: client, to: destination) { _, _ in
                        let chunks = client.transfers.load.chunks
                        most.withLock { $0 = max($0, chunks) }
                    }
                    #expect(destination.bytes == bytes)
                }
            }
            try await group.waitForAll()
        }
        #expect(most.withLock { $0 } == 1)
        #expect(client.transfers.load.files == 0 && client.transfers.load.chunks == 0)
    }

    @Test func silentRelayDelaysNoOtherDownload() async throws {
        let silent = try ScriptedRelay(chunk: someBytes(65_536), faults: [.freezing(after: 0)])
        let relay = try LocalRelay()
        let client = XFTPClient.forTests {
            ($0.fetching.bytesInFlight, $0.fetching.bytesForDemand) = (1, 0)
            $0.fetching.stalledAfter = .milliseconds(100)
            $0.requestDeadline = .seconds(10_000)
        }
        let bytes = someBytes(100_000)
        let uploaded = try await FileUpload.run(
            MemorySource(bytes: bytes), fileName: "a", recipients: 1, relays: [relay.address], client: client)
        let description = FileDescription(
            party: .recipient, digest: someBytes(64), key: someBytes(32), nonce: someBytes(24),
            chunks: [silent.described()])
        let stuck = Task { await code { _ = try await download(description, client) } }
        try await wait(until: "the relay is asked") { silent.requests.withLock { $0["download"] } == 1 }
        #expect(try await download(uploaded.recipients[0], client).1 == bytes)
        stuck.cancel()
        #expect(await stuck.value == .cancelled)
        #expect(client.transfers.load.files == 0 && client.transfers.load.chunks == 0)
        await silent.stop()
    }
}
