import ChatCore
import CommandLineKit
import OfficialCore
import Posix

/// `chatfs phone save`: decrypted files of a phone's chats in a folder.
enum PhoneSaving {
    static let command = Command(
        "save", "Save decrypted files of your phone's chats into a folder.",
        discussion: """
            Waits for the phone, which must not be mounted. DIR is a private folder (0700). It has a folder for each \
            chat, files with the names and times of their messages, the texts in messages.jsonl, and manifest.json with \
            the SHA-256 of each file. A repeated command adds new files and reports files that you changed there, without \
            touching them. The phone first receives files that it does not have, starting with those that expire first. \
            This uses its storage; --receive-limit and --policy phone-only limit it. If the phone leaves, repeat the \
            command to continue.
            """,
        arguments: [chats, folder],
        options: [all, PhoneOptions.phone] + PhoneOptions.options + LinkDisplay.options
            + [CommonOptions.noEncryption] + CommonOptions.directory,
        examples: [
            Example("chatfs phone save --all ~/Backup", "Back up all files on the phone."),
            Example("chatfs phone save Family Bob ~/Backup", "Save two chats."),
        ],
        waitsForStop: true
    ) { invocation in
        let chats = invocation[chats]
        guard chats.isEmpty == invocation[all] else {
            throw UsageError("give names of chats, or --all")
        }
        try await invocation.untilStopped(grace: .seconds(5)) {
            try await save(chats, to: AbsolutePath.of(invocation[folder]), invocation)
        }
    }

    private static let chats = Argument(
        "CHAT", .text, count: .any, "A contact, group or chat, by its name or reference.")
    private static let folder = Argument("DIR", .folder, "A new folder, or the folder of an earlier run.")
    private static let all = Option.flag("all", "Save all chats.")

    private static func save(_ names: [String], to path: String, _ invocation: Invocation) async throws {
        guard var choice = try OfficialCoreChoice(core: PhoneOptions.core(invocation)) else {
            return
        }
        choice.phone = try PhoneOptions(invocation)
        var settings = CoreSettings(
            profile: nil, directory: try DirectoryAccess(invocation), core: .official(choice))
        settings.phoneDisplay = try LinkDisplay(invocation)
        let access = settings.directory
        let directory = try await ThreadPool.shared.run { () throws(any Error) in
            try access.open(isMade: true)
        }
        let core = try await MountedCore.openOfficial(choice, settings, in: directory)
        let saving = PhoneSave(core: core, directory: directory, path: path, limit: choice.phone.limit)
        let isWhole = try await concluding(with: core.shutDown) { try await saving.run(names) }
        try await ThreadPool.shared.run { () throws(ChatError) in try directory.noteParts() }
        if !isWhole { throw ExitCode.failure }
    }
}
