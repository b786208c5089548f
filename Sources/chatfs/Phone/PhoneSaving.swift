import ChatCore
import CommandLineKit
import OfficialCore
import Posix

/// `chatfs phone save`: the files of a phone's chats in clear, in a folder.
enum PhoneSaving {
    static let command = Command(
        "save", "Write files of your phone's chats in clear into a folder.",
        discussion: """
            Files get their names and the times of their messages, a folder for each chat, and manifest.json has the \
            SHA-256 of each. DIR is for you alone (0700): whoever can read it reads the files. Run again, it gets what is \
            new; what was changed there is left and named. The phone first receives the files that it does not have, those that \
            expire first in front, which uses its storage: --receive-limit and --policy phone-only limit that. If the phone \
            leaves, run the command again: it continues. The phone must not be mounted meanwhile, and it is waited for.
            """,
        arguments: [
            Argument("CHAT", .text, count: .any, "A contact, group or chat, by its name or reference."),
            Argument("DIR", .folder, "A new folder, or one of an earlier run."),
        ],
        options: [
            .flag("all", "All chats."), PhoneOptions.phone,
            PhoneOptions.listen, PhoneOptions.host, PhoneOptions.versions, PhoneOptions.policy,
            PhoneOptions.receiveLimit,
        ] + LinkDisplay.options + [CommonOptions.noEncryption] + CommonOptions.directory,
        examples: [
            Example("chatfs phone save --all ~/Backup", "A backup of all files on the phone."),
            Example("chatfs phone save Family Bob ~/Backup", "Two chats."),
        ],
        waitsForStop: true
    ) { invocation in
        let chats = invocation.allArguments("CHAT")
        guard chats.isEmpty == invocation.has("all") else { throw UsageError("name chats, or give --all") }
        try await invocation.untilStopped(grace: .seconds(5)) {
            try await save(chats, to: AbsolutePath.of(invocation.argument("DIR")), invocation)
        }
    }

    private static func save(_ names: [String], to path: String, _ invocation: Invocation) async throws {
        let word = invocation["name"].map { "phone:" + $0 } ?? "phone"
        guard var choice = try OfficialCoreChoice(core: word, database: nil) else { return }
        choice.phone = try PhoneOptions(invocation)
        var settings = CoreSettings(
            profile: nil, directory: try DirectoryAccess(invocation), official: choice)
        settings.phoneDisplay = try LinkDisplay(invocation)
        let access = settings.directory
        let directory = try await ThreadPool.shared.run { () throws(any Error) in
            try access.open(isMade: true)
        }
        let core = try await MountedCore.openOfficial(choice, settings, in: directory)
        do {
            let saving = PhoneSave(core: core, directory: directory, path: path, limit: choice.phone.limit)
            let isWhole = try await saving.run(names)
            await core.shutDown()
            try await ThreadPool.shared.run { () throws(ChatError) in try directory.noteParts() }
            if !isWhole { throw ExitCode.failure }
        } catch {
            await core.shutDown()
            throw error
        }
    }
}
