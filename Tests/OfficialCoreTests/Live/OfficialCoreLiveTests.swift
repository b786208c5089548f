import Base
import ChatCore
import Glibc
import Posix
import TestSupport
import Testing

@testable import OfficialCore

@Suite(
    "Two profiles of the official program", .serialized,
    .disabled(if: OfficialPrograms.lackChat, "OFFICIAL_BIN names no folder with the official programs"))
struct OfficialCoreLiveTests {
    @Test("every size and name is received and deleted")
    func matrix() async throws {
        let relays = try await OfficialRelays()
        let (alice, bob) = try await LivePerson.acquaintances(relays)
        let (toBob, toAlice) = (try await alice.chat("bob"), try await bob.chat("alice"))
        for size in [1, 65_000, 261_121, 1_048_576, 5_500_000] {
            for (sender, receiver, out, into) in [
                (alice, bob, toBob.reference, toAlice.reference),
                (bob, alice, toAlice.reference, toBob.reference),
            ] {
                let bytes = SystemRandomSource().bytes(size)
                let name = "größe \(size) 🦊 von \(sender.name).bin"
                let item = try await sender.send(bytes, name, to: out)
                let offer = try await wait(for: name) { try await receiver.received(name, in: into) }
                #expect(offer.size == UInt64(size))
                try await wait(until: "\(name) is described") {
                    try await receiver.received(name, in: into)?.status == .rcvInvitation(described: true)
                }
                // A comparison that finds the message before its event counts the file as described slightly
                // too early.
                let claim = try await wait(for: "the description of \(name)") {
                    try await receiver.core.claimFile(offer.id, approvedRelays: false)
                }
                #expect(claim.description.contains("party: recipient"))
                try await wait(until: "\(name) is received") {
                    try await receiver.received(name, in: into)?.status == .rcvComplete
                }
                let location = try #require(try await receiver.core.location(of: offer.id))
                #expect(location.arguments != nil, "encrypted at rest")
                let onDisk = try OpenFile(location.path, flags: O_RDONLY).status().st_size
                #expect(onDisk == size + 16)
                // The sent copy exists as long as its message, in its own folder.
                let sent = try #require(try await sender.core.location(of: item.file?.id ?? FileID(0)))
                try await wait(until: "\(name) is sent") {
                    try await sender.core.item(item.id, in: out).file?.status == .sndComplete
                }
                #expect(access(sent.path, F_OK) == 0)
                try await sender.core.deleteItems([item.id], in: out, mode: .internal)
                #expect(access(sent.path, F_OK) != 0 && access(folder(of: sent.path), F_OK) != 0)
            }
        }
        for person in [alice, bob] { await person.core.shutDown() }
        try await relays.stop()
    }

    @Test("a reception continues after a restart")
    func restart() async throws {
        let relays = try await OfficialRelays()
        let (alice, bob) = try await LivePerson.acquaintances(relays)
        let (toBob, toAlice) = (try await alice.chat("bob"), try await bob.chat("alice"))
        _ = try await alice.send(SystemRandomSource().bytes(9_000_000), "film.bin", to: toBob.reference)
        let offer = try await wait(for: "the offer") {
            try await bob.received("film.bin", in: toAlice.reference)
        }
        try await wait(until: "it is described") {
            try await bob.received("film.bin", in: toAlice.reference)?.status
                == .rcvInvitation(described: true)
        }
        try await bob.core.receiveFile(offer.id, approvedRelays: false)
        let files = try DatabaseFiles(prefix: bob.folder + "/db")
        let process = try #require(files.user())
        kill(process.identifier, SIGKILL)
        try await wait(until: "it is received after all", within: .seconds(90)) {
            try await bob.received("film.bin", in: toAlice.reference)?.status == .rcvComplete
        }
        for person in [alice, bob] { await person.core.shutDown() }
        try await relays.stop()
    }

    private func folder(of path: String) -> String {
        path.split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 }
    }
}
