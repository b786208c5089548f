import Base
import Glibc
import Network
import Posix
import TestSupport
import Testing
import XFTP

@testable import XFTPRelay

/// A chunk deleted during a download stays on disk until the download ends.
@Suite struct HeldDownloadTests {
    private static let size = 1 << 20

    /// Returns whether this process, which contains the relay, has the chunk's file open.
    private static func isOpen(_ chunk: TestChunk) throws -> Bool {
        let name = Base64URL.encode(chunk.senderID)
        return try OpenDescriptors.paths().values.contains { $0.contains(name) }
    }

    @Test func deletedChunksCountWhileDownloading() async throws {
        let place = try RelayPlace { $0.quota = 2 * UInt64(Self.size) + 4 * Quota.record(recipients: 1) }
        let talk = try await place.connect()
        var chunks = [TestChunk](repeating: TestChunk(), count: 3)
        for index in chunks.indices {
            chunks[index] = TestChunk(size: Self.size)
            try await chunks[index].create(on: talk)
        }
        #expect(try await chunks[0].put(on: talk) == .ok)
        var holding: StallingClient? = try StallingClient(place.relay.address, window: 0)
        try holding?.beginDownload(of: chunks[0])
        try await wait(until: "the relay has opened it") { try Self.isOpen(chunks[0]) }
        #expect(try await talk.ask(.delete, entity: chunks[0].senderID, key: chunks[0].sender) == .ok)
        #expect(place.relay.storedBytes == 0)
        #expect(try await chunks[1].put(on: talk) == .ok)
        #expect(try await chunks[2].put(on: try await place.connect()) == .error(.quota))
        withExtendedLifetime(holding) {}
        holding = nil
        try await wait(until: "there is room again") {
            try await chunks[2].put(on: try await place.connect()) == .ok
        }
        await place.relay.stop()
    }
}
