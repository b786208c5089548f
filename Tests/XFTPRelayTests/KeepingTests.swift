import Base
import Cryptography
import Glibc
import Network
import Posix
import TestSupport
import Testing
import XFTP
import XFTPRelay

/// Persistence, expiry, quota and access.
@Suite struct KeepingTests {
    @Test func expiredChunksFreeTheirSpace() async throws {
        let place = try RelayPlace()
        let talk = try await place.connect()
        var chunk = TestChunk()
        try await chunk.create(on: talk)
        _ = try await chunk.put(on: talk)
        // Created at 00:30 and stored as 00:00, so it expires 48 hours after that.
        place.clock.advance(by: .seconds(47 * 3600 + 1800))
        let lastMinute = try await chunk.get(on: talk)
        #expect(lastMinute == .success(chunk.bytes))
        #expect(try place.relay.expire() == 0)
        place.clock.advance(by: .seconds(1))
        let after = try await chunk.get(on: talk)
        #expect(after == .failure(.authorization))
        #expect(place.relay.storedBytes == 65_536)
        #expect(try place.relay.expire() == 1)
        #expect(place.relay.storedBytes == 0)
        let names = try place.folder.names(in: "relay/chunks")
        #expect(names.isEmpty)
        await place.relay.stop()
    }

    @Test func quotaCountsStoredChunksAndUploads() async throws {
        let place = try RelayPlace { $0.quota = 200_000 }
        let talk = try await place.connect()
        var chunks: [TestChunk] = []
        for _ in 0..<4 {
            var chunk = TestChunk()
            try await chunk.create(on: talk)
            chunks.append(chunk)
        }
        for chunk in chunks.prefix(3) {
            let answer = try await chunk.put(on: talk)
            #expect(answer == .ok)
        }
        let full = try await chunks[3].put(on: try await place.connect())
        #expect(full == .error(.quota))
        _ = try await talk.ask(.delete, entity: chunks[0].senderID, key: chunks[0].sender)
        let room = try await chunks[3].put(on: talk)
        #expect(room == .ok)
        #expect(place.relay.storedBytes == 3 * 65_536)
        await place.relay.stop()
    }

    @Test func onlyNewChunksNeedThePassword() async throws {
        let place = try RelayPlace { $0.password = "open sesame!" }
        let talk = try await place.connect()
        let chunk = TestChunk()
        for password in [nil, "open sesame?", ""] {
            let answer = try await talk.ask(chunk.announcement(password: password), key: chunk.sender)
            #expect(answer == .error(.authorization))
        }
        var allowed = chunk
        try await allowed.create(on: talk, password: "open sesame!")
        let answer = try await allowed.put(on: talk)
        #expect(answer == .ok)
        let bytes = try await allowed.get(on: talk)
        #expect(bytes == .success(chunk.bytes))
        #expect(!place.relay.address.textWithPassword.contains("sesame"))
        await place.relay.stop()
    }

    @Test func relayWithoutPasswordIgnoresPasswords() async throws {
        let place = try RelayPlace()
        let talk = try await place.connect()
        var chunk = TestChunk()
        try await chunk.create(on: talk, password: "needless")
        await place.relay.stop()
    }

    @Test func restartKeepsIdentityPortAndChunks() async throws {
        let first = try RelayPlace()
        let talk = try await first.connect()
        var stored = TestChunk(size: 1_048_576)
        try await stored.create(on: talk)
        _ = try await stored.put(on: talk)
        var announced = TestChunk()
        try await announced.create(on: talk)
        await first.relay.stop()

        let second = try RelayPlace(folder: first.folder)
        #expect(second.relay.address == first.relay.address)
        #expect(second.relay.storedBytes == 1_048_576)
        let again = try await second.connect()
        let bytes = try await stored.get(on: again)
        #expect(bytes == .success(stored.bytes))
        let answer = try await announced.put(on: again)
        #expect(answer == .ok)
        await second.relay.stop()
    }

    @Test func folderBelongsToOneRelay() async throws {
        let place = try RelayPlace()
        #expect {
            try RelayPlace(folder: place.folder)
        } throws: {
            ($0 as? RelayError)?.code == .inUse
        }
        await place.relay.stop()
    }

    @Test func certificateKindCannotChange() async throws {
        let place = try RelayPlace { $0.certificate = .ed448 }
        await place.relay.stop()
        #expect {
            try RelayPlace(folder: place.folder) { $0.certificate = .ed25519 }
        } throws: {
            ($0 as? RelayError)?.code == .certificates
        }
        let again = try RelayPlace(folder: place.folder)
        #expect(again.relay.address.fingerprint == place.relay.address.fingerprint)
        await again.relay.stop()
    }

    @Test func startCleansUpAfterACrash() async throws {
        let place = try RelayPlace()
        let talk = try await place.connect()
        var chunk = TestChunk()
        try await chunk.create(on: talk)
        _ = try await chunk.put(on: talk)
        var lost = TestChunk()
        try await lost.create(on: talk)
        _ = try await lost.put(on: talk)
        await place.relay.stop()
        // An interrupted upload, a chunk without record, and a truncated chunk.
        try place.folder.write([1, 2, 3], to: "relay/incoming/5")
        try place.folder.write([1, 2, 3], to: "relay/chunks/AAAA")
        let name = "relay/chunks/" + Base64URL.encode(lost.senderID)
        try OpenFile(place.folder.path(name), flags: O_RDWR).truncate(to: 10)

        let again = try RelayPlace(folder: place.folder)
        #expect(try place.folder.names(in: "relay/incoming").isEmpty)
        #expect(try place.folder.names(in: "relay/chunks") == [Base64URL.encode(chunk.senderID)])
        #expect(again.relay.storedBytes == 65_536)
        let next = try await again.connect()
        let bytes = try await chunk.get(on: next)
        #expect(bytes == .success(chunk.bytes))
        let missing = try await lost.get(on: next)
        #expect(missing == .failure(.noFile))
        let repeated = try await lost.put(on: next)
        #expect(repeated == .ok)
        await again.relay.stop()
    }

    @Test func filesAreNotAccessibleToOthers() async throws {
        let place = try RelayPlace()
        let talk = try await place.connect()
        var chunk = TestChunk()
        try await chunk.create(on: talk)
        _ = try await chunk.put(on: talk)
        var names = try place.folder.names(in: "relay").map { "relay/" + $0 }
        names += try place.folder.names(in: "relay/chunks").map { "relay/chunks/" + $0 }
        #expect(names.count > 8)
        for name in ["relay"] + names {
            var status = stat()
            #expect(lstat(place.folder.path(name), &status) == 0)
            #expect(status.st_mode & 0o077 == 0, "\(name) is open to others")
        }
        await place.relay.stop()
    }

    @Test func brokenUploadCanBeRepeated() async throws {
        let place = try RelayPlace()
        let talk = try await place.connect()
        var chunk = TestChunk(size: 4_194_304)
        try await chunk.create(on: talk)
        // An interrupted body closes its connection.
        final class Breaking: BodySource {
            let length = Block.size + 4_194_304
            let block: BytesBody
            init(_ block: [UInt8]) { self.block = BytesBody(block) }
            func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws -> Int {
                guard offset < 2_000_000 else { throw WaitedInVain("broken off") }
                return offset < Block.size ? block.read(into: buffer, at: offset) : buffer.count
            }
        }
        let other = try await place.connect()
        let body = Breaking(other.block(.upload, entity: chunk.senderID, key: chunk.sender))
        await #expect(throws: NetworkError.self) {
            try await other.client.send(body, to: CollectedBody(limit: 1 << 20), deadline: .seconds(60))
        }
        try await wait(until: "the relay has dropped it") {
            try place.folder.names(in: "relay/incoming").isEmpty
        }
        let nothing = try await chunk.get(on: talk)
        #expect(nothing == .failure(.noFile))
        let answer = try await chunk.put(on: talk)
        #expect(answer == .ok)
        await place.relay.stop()
    }

    @Test func deletionDoesNotDisturbDownloads() async throws {
        let place = try RelayPlace()
        let talk = try await place.connect()
        var made = TestChunk(size: 4_194_304)
        try await made.create(on: talk)
        _ = try await made.put(on: talk)
        let chunk = made
        let other = try await place.connect()
        async let download = chunk.get(on: other)
        _ = try await talk.ask(.delete, entity: chunk.senderID, key: chunk.sender)
        let result = try await download
        // The download had begun and is complete, or had not begun.
        #expect(result == .success(chunk.bytes) || result == .failure(.authorization))
        await place.relay.stop()
    }
}
