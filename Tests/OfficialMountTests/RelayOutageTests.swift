import Base
import Cryptography
import Glibc
import Posix
import TestSupport
import Testing

@Suite(
    "Outage of official relays", .serialized,
    .disabled(if: OfficialPrograms.lackChat, "OFFICIAL_BIN names no folder with the official programs"))
struct OfficialRelayOutageTests {
    @Test("a read fails during the outage only")
    func reading() async throws {
        let stage = try await OfficialStage.start("alice", "bob")
        let (alice, bob) = (stage.people[0], stage.people[1])
        try await alice.mount(.attached)
        let bytes = SystemRandomSource().bytes(40_000_000)
        try await alice.copy(bytes, as: "film.bin", to: "bob")
        try await alice.waitForState("sent", of: "film.bin", in: "bob")
        try await bob.mount(.attached)
        try await bob.waitForFile("film.bin", in: "alice")
        // The relay is silent: it accepts connections and does not answer.
        stage.relays.files.send(SIGSTOP)
        let path = bob.chats + "/alice/film.bin"
        let reader = try await PieceReader.start(path)
        #expect(try await reader.read(0..<1000) == "ETIMEDOUT")
        let sentence = try bob.attribute("error", of: "film.bin", in: "alice")
        #expect(sentence?.isEmpty == false)
        stage.relays.files.send(SIGCONT)
        #expect(try await reader.readAtLast(0..<1000) == Self.digest(bytes[0..<1000]))
        // The relay dies during the transfer and restarts with its stored chunks.
        try await stage.relays.files.kill()
        let piece = 39_000_000..<39_500_000
        let meanwhile = try await reader.read(piece)
        // The core receives the file in parallel and can be faster than the reader.
        let possible = ["EHOSTUNREACH", "ETIMEDOUT", Self.digest(bytes[piece])]
        #expect(possible.contains(meanwhile), "\(meanwhile)")
        try await stage.relays.files.start()
        #expect(try await reader.readAtLast(piece) == Self.digest(bytes[piece]))
        #expect(try await reader.readAtLast(0..<bytes.count) == Self.digest(bytes[...]))
        // The core may have given up its copy at the relay's death, but the reader gets the bytes.
        try await bob.waitForState("stored", "hydrated", "failed", of: "film.bin", in: "alice")
        try await stage.leave()
    }

    @Test("files copied during an outage are sent once")
    func sending() async throws {
        let stage = try await OfficialStage.start("alice", "bob")
        let (alice, bob) = (stage.people[0], stage.people[1])
        for person in stage.people { try await person.mount(.attached) }
        // The file relay dies during an upload.
        let big = try await alice.copy(SystemRandomSource().bytes(30_000_000), as: "big.bin", to: "bob")
        try await alice.waitForState("sending", "sent", of: "big.bin", in: "bob")
        try await stage.relays.files.kill()
        let later = try await alice.copy(SystemRandomSource().bytes(300_000), as: "later.bin", to: "bob")
        // The message relay is silent, so that no message with a file arrives.
        stage.relays.messages.send(SIGSTOP)
        let last = try await alice.copy(SystemRandomSource().bytes(100_000), as: "last.bin", to: "bob")
        try await Task.sleep(for: .seconds(3))
        #expect(try alice.attribute("state", of: "last.bin", in: "bob") != "sent")
        stage.relays.messages.send(SIGCONT)
        try await stage.relays.files.start()
        for (name, digest) in [("big.bin", big), ("later.bin", later), ("last.bin", last)] {
            try await alice.waitForState("sent", of: name, in: "bob")
            try await bob.waitForFile(name, in: "alice")
            #expect(try await bob.read(name, in: "alice") == digest, "\(name)")
        }
        #expect(try bob.names(in: "alice").count == 3)
        try await stage.leave()
    }

    private static func digest(_ bytes: ArraySlice<UInt8>) -> String {
        Hexadecimal.encode(SHA256.hash(Array(bytes)))
    }
}
