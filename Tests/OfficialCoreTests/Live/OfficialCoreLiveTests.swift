import Base
import ChatCore
import Glibc
import Network
import Posix
import TestSupport
import Testing

@testable import OfficialCore

/// Somebody with the official program, started and used as a mount does it.
private final class Person: Sendable {
    let name: String
    let transport: ProcessTransport
    let core: OfficialCore
    let folder: String

    init(_ name: String, _ relays: OfficialRelays) async throws {
        self.name = name
        let settings = try OfficialProgramTests.settings(relays, name)
        folder = relays.folder.path(name)
        transport = try await ProcessTransport.start(settings)
        core = try await OfficialCore.open(
            transport,
            OfficialCoreSettings(
                ownership: .program, filesFolder: settings.filesFolder,
                temporaryFolder: settings.temporaryFolder, folder: folder + "/kept"))
    }

    /// A CryptoFile would do; plain bytes show that the core takes both.
    func send(_ bytes: [UInt8], _ fileName: String, to chat: ChatReference) async throws -> ChatItem {
        let staged = core.stagingFolder + "/staged-\(bytes.count)-\(Int.random(in: 0..<1 << 40))"
        try OpenFile(staged, flags: O_WRONLY | O_CREAT | O_EXCL).write(bytes, at: 0)
        return try await core.send(
            ComposedMessage(
                id: staged, fileName: fileName, size: UInt64(bytes.count),
                source: FileSourceLocation(path: staged, arguments: nil), content: .init(kind: .file)),
            to: chat)
    }

    func received(_ fileName: String, in chat: ChatReference) async throws -> ChatFile? {
        try await core.items(of: chat, before: nil, count: 100).first { $0.file?.name == fileName }?.file
    }

    func chat(_ name: String) async throws -> Chat {
        try await wait(for: "the chat \(name)") {
            try await self.core.chats().first { $0.displayName == name && $0.sendingRefused == nil }
        }
    }
}

@Suite(
    "Two people with the official program", .serialized,
    .disabled(if: OfficialPrograms.lackChat, "OFFICIAL_BIN names no folder with the official programs"))
struct OfficialCoreLiveTests {
    @Test("every size and name arrives, is received for good, and goes with its message")
    func matrix() async throws {
        let relays = try await OfficialRelays()
        let (alice, bob) = try await acquaintances(relays)
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
                let claim = try await receiver.core.claimFile(offer.id, approvedRelays: false)
                #expect(claim?.description.contains("party: recipient") == true)
                try await wait(until: "\(name) is received") {
                    try await receiver.received(name, in: into)?.status == .rcvComplete
                }
                let location = try #require(try await receiver.core.location(of: offer.id))
                #expect(location.arguments != nil, "encrypted at rest")
                let onDisk = try OpenFile(location.path, flags: O_RDONLY).status().st_size
                #expect(onDisk == size + 16)
                // The sent copy lives as long as its message, in a folder of its own.
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

    @Test("a core that ends in the middle of receiving goes on when it is back")
    func restart() async throws {
        let relays = try await OfficialRelays()
        let (alice, bob) = try await acquaintances(relays)
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

    /// Two profiles that know each other. Over the program's own commands: making contacts is not what
    /// ChatFS does.
    private func acquaintances(_ relays: OfficialRelays) async throws -> (Person, Person) {
        let invitation = try await command("/connect", of: "alice", relays)
        let link = try #require(
            invitation.firstMatch(of: /(?:simplex:|https:\/\/)\S*invitation\S+/)
        ).output
        _ = try await command("/connect \(link)", of: "bob", relays)
        return (try await Person("alice", relays), try await Person("bob", relays))
    }

    /// Runs one command of a profile that no other process uses, and makes the profile when it is new.
    private func command(_ text: String, of name: String, _ relays: OfficialRelays) async throws -> String {
        if access(relays.folder.path(name), F_OK) != 0 { _ = try relays.folder.makeFolder(name) }
        let outcome = try await Shell.script(
            """
            printf '%s\\n' "$NAME" | "$PROGRAM" -d "$DATABASE" -y -s "$MESSAGES" --xftp-server "$FILES" \
                -e "$COMMAND" -t 4
            """,
            environment: [
                "LC_ALL": "C.UTF-8", "NAME": name, "PROGRAM": OfficialPrograms.path("simplex-chat"),
                "DATABASE": relays.folder.path(name) + "/db", "MESSAGES": relays.messages.address,
                "FILES": relays.files.address, "COMMAND": text,
            ])
        return outcome.output
    }
}
