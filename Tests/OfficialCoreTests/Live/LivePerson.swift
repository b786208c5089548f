import ChatCore
import Glibc
import Network
import Posix
import TestSupport
import Testing

@testable import OfficialCore

/// A user of the official program, which runs with the options of a mount.
final class LivePerson: Sendable {
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

    /// Sends plain bytes; the mount sends a CryptoFile, and the core accepts both.
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

    /// Two connected profiles. The program's own commands connect the profiles, because connecting is not
    /// under test.
    static func acquaintances(_ relays: OfficialRelays) async throws -> (LivePerson, LivePerson) {
        let invitation = try await command("/connect", of: "alice", relays)
        let link = try #require(
            invitation.firstMatch(of: /(?:simplex:|https:\/\/)\S*invitation\S+/)
        ).output
        _ = try await command("/connect \(link)", of: "bob", relays)
        return (try await LivePerson("alice", relays), try await LivePerson("bob", relays))
    }

    /// Runs one command of a profile that no other process uses. Creates the profile if necessary.
    private static func command(_ text: String, of name: String, _ relays: OfficialRelays) async throws
        -> String
    {
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
