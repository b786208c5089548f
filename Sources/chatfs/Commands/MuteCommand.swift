import Base
import ChatCore
import CommandLineKit
import Desktop
import EmbeddedCore
import FileSystem
import Glibc
import Notifications
import Posix

/// `chatfs mute`: mutes the notifications of chats.
enum MuteCommand {
    private static let chat = Argument(
        optional: "CHAT", .listed("chats"), "Name of a contact or group, or its reference.")

    static let command = Command(
        "mute", "Turn off desktop notifications for a chat.",
        discussion: """
            Takes effect at once, also for a mounted profile, until 'chatfs unmute'. Notifications of your own failed \
            files are still shown. Without CHAT it prints the muted chats.
            """,
        section: CommandSection.chats, arguments: [chat],
        options: [ProgramConnection.json] + CommonOptions.access,
        examples: [Example("chatfs mute 'Book club'", "Mute this group.")]
    ) { invocation in
        let chats = try await MutableChats.of(invocation)
        guard let name = invocation[chat] else {
            let muted = try await ThreadPool.shared.run { () throws(SystemError) in try chats.muted.all() }
            for chat in chats.named.all where muted.contains(chat.reference) {
                Terminal.print(
                    invocation[ProgramConnection.json]
                        ? JSONLine.object([("chat", "\(chat.reference)"), ("name", chat.name)])
                        : PrintableText.escaping(chat.name))
            }
            return
        }
        let chat = try chats.named.chat(name)
        try await ThreadPool.shared.run { () throws(SystemError) in try chats.muted.mute(chat.reference) }
    }
}

/// `chatfs unmute`: the inverse of mute.
enum UnmuteCommand {
    private static let chat = Argument(
        "CHAT", .listed("chats"), "Name of a contact or group, or its reference.")

    static let command = Command(
        "unmute", "Turn desktop notifications for a chat back on.",
        section: CommandSection.chats, arguments: [chat],
        options: CommonOptions.access,
        examples: [Example("chatfs unmute 'Book club'", "Show notifications of this group again.")]
    ) { invocation in
        let chats = try await MutableChats.of(invocation)
        let chat = try chats.named.chat(invocation[chat])
        try await ThreadPool.shared.run { () throws(SystemError) in try chats.muted.unmute(chat.reference) }
    }
}

/// The chats of a profile and the record of muted ones.
private struct MutableChats: Sendable {
    var named: NamedChats
    var muted: MutedChats

    static func of(_ invocation: Invocation) async throws -> MutableChats {
        let access = try ProfileAccess(invocation)
        guard let official = access.settings.core.official else {
            // The data directory suffices without a core.
            let directory = try await access.settings.openDirectory()
            let name = invocation[CommonOptions.profile]
            return try await ThreadPool.shared.run { () throws(any Error) in
                let profile = try directory.profile(named: name)
                return MutableChats(
                    named: try directory.namedChats(of: profile),
                    muted: try muted(in: directory.folders(of: profile).own))
            }
        }
        let folder = official.folder(dataPath: access.settings.dataPath)
        return try await access.use { _ in
            try await ofMount(below: folder)
        } opened: { opened in
            let chats = try await opened.folders.chats(of: opened.core)
            let own = opened.folder
            return try await ThreadPool.shared.run { () throws(SystemError) in
                MutableChats(named: chats, muted: try muted(in: own))
            }
        }
    }

    /// For a mounted official core: its daemon has the list.
    private static func ofMount(below folder: String) async throws -> MutableChats {
        for mounted in try await ThreadPool.shared.run({ () throws(DesktopError) in try Mounted.all() }) {
            guard let status = await mounted.status(), status.controlFolder.path(below: folder) != nil
            else { continue }
            let client = try await ProgramConnection.client(of: mounted)
            return try await ThreadPool.shared.run { () throws(any Error) in
                MutableChats(
                    named: NamedChats(try client.chats()), muted: try muted(in: status.controlFolder))
            }
        }
        throw DesktopError(.noAnswer, "The mount of this core does not answer; try again.")
    }

    private static func muted(in folder: String) throws(SystemError) -> MutedChats {
        MutedChats(in: try OpenFile(folder, flags: O_RDONLY))
    }
}
