import Base
import Glibc
import Network
import TestSupport
import Testing
import XFTP

@testable import XFTPRelay

/// A chunk uploaded twice, by a client that lost its connection or by an attacker.
@Suite struct RepeatedUploadTests {
    /// The block of an upload and half of its bytes, then the rest on demand.
    private final class Halting: BodySource {
        private let bytes: [UInt8]
        private let isHeld = Lock(true)
        var length: Int { bytes.count }

        init(_ bytes: [UInt8]) { self.bytes = bytes }

        func goOn() { isHeld.withLock { $0 = false } }

        func read(into buffer: UnsafeMutableRawBufferPointer, at start: Int) -> Int {
            while start >= bytes.count / 2, isHeld.withLock({ $0 }) { usleep(1000) }
            let end = start < bytes.count / 2 ? bytes.count / 2 : bytes.count
            let piece = bytes[start..<min(end, start + buffer.count)]
            buffer.copyBytes(from: piece)
            return piece.count
        }
    }

    @Test func laterUploadDoesNotReplaceAcknowledgedBytes() async throws {
        let place = try RelayPlace()
        let talk = try await place.connect()
        var chunk = TestChunk(size: 1 << 20)
        try await chunk.create(on: talk)
        let other = try await place.connect()
        let body = Halting(
            other.block(.upload, entity: chunk.senderID, key: chunk.sender) + chunk.bytes)
        let answer = CollectedBody(limit: 1 << 20)
        async let late: Void = other.client.send(body, to: answer, deadline: .seconds(60))
        try await wait(until: "it has begun") { try place.folder.names(in: "relay/incoming").count == 1 }
        #expect(try await chunk.put(on: talk) == .ok)
        let file = "relay/chunks/" + Base64URL.encode(chunk.senderID)
        let acknowledged = try #require(Self.inode(place.folder.path(file)))
        body.goOn()
        try await late
        #expect(XFTPResponse(decoding: try Transmission(block: answer.bytes).body) == .ok)
        #expect(Self.inode(place.folder.path(file)) == acknowledged)
        #expect(place.relay.storedBytes == 1 << 20)
        #expect(try place.folder.names(in: "relay/incoming").isEmpty)
        #expect(try await chunk.get(on: talk) == .success(chunk.bytes))
        await place.relay.stop()
    }

    private static func inode(_ path: String) -> UInt? {
        var status = stat()
        return lstat(path, &status) == 0 ? UInt(status.st_ino) : nil
    }
}
