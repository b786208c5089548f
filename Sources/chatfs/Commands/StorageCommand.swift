import Archive
import Base
import ChatCore
import CommandLineKit
import Desktop
import EmbeddedCore
import FileSystem
import Posix

/// `chatfs storage`: disk use and removable copies.
enum StorageCommand {
    private static let json = Option.flag("json", "For programs.")
    private static let chat = Option(
        "chat", named: "NAME", .listed("chats"), "Only files of this contact or group.")
    private static let age = Option(
        "older-than", named: "TIME", .duration, "Only files of older messages: 30d, 48h.")
    private static let lastCopies = Option.flag("last-copies", "Also delete files that no relay has.")

    static let command = Command(
        "storage", "Show disk use, and delete copies of files.",
        section: CommandSection.data, subcommands: [show, free])

    private static let show = Command(
        "show", "Print disk use by chat.",
        discussion: """
            Prints local files, those that can be freed because relays still have them, and files that are not local. \
            The last line has drafts, databases, copies set aside, and the cache of a mount.
            """,
        options: [json] + CommonOptions.ofProfile,
        examples: [Example("chatfs storage show --profile alice", "Show the disk use of alice.")]
    ) { invocation in
        let directory = try await invocation.dataDirectory()
        let (use, own) = try await ThreadPool.shared.run { () throws(any Error) in
            let profile = try directory.profile(named: invocation[CommonOptions.profile])
            let use = try StorageUse(of: profile, in: directory, now: SystemWallClock().now())
            return (use, try directory.folders(of: profile).own)
        }
        var whole = use
        whole.cached = await cached(ofProfileIn: own)
        if invocation[json] { return Terminal.print(try JSONLine.encoded(whole)) }
        for line in lines(whole) { Terminal.print(PrintableText.escaping(line)) }
    }

    /// Returns nil if not mounted or unknown.
    private static func cached(ofProfileIn folder: String) async -> UInt64? {
        for mounted in (try? Mounted.all()) ?? [] {
            if let status = await mounted.status(), status.controlFolder == folder {
                return status.cachedBytes
            }
        }
        return nil
    }

    private static func lines(_ use: StorageUse) -> [String] {
        let chats = use.chats.map { chat in
            "\(chat.name): \(words(chat.here)) stored here (\(words(chat.freeable)) can be freed), "
                + "\(words(chat.remote)) not here"
        }
        return chats + [
            "all chats: \(words(use.here)) stored here (\(words(use.freeable)) can be freed), "
                + "\(words(use.remote)) not here",
            "drafts: \(words(use.drafts)); databases: \(ByteCount.rounded(use.databases.bytes)); "
                + "set aside: \(words(use.setAside))"
                + (use.cached.map { "; cache: \(ByteCount.rounded($0))" } ?? ""),
        ]
    }

    private static func words(_ amount: StorageUse.Amount) -> String {
        "\(counted(amount.files, "file")) (\(ByteCount.rounded(amount.bytes)))"
    }

    // MARK: - Removing copies

    private static let free = Command(
        "free", "Delete copies of received files; their messages stay.",
        discussion: """
            Files that relays still have become placeholders; reading receives them again. --last-copies also deletes \
            files that no relay has, for good and after a question. Sent files and notes stay. If the profile is \
            mounted, its mount deletes the copies.
            """,
        options: [chat, age, lastCopies, Confirmation.option] + CommonOptions.ofProfile,
        examples: [
            Example(
                "chatfs storage free --older-than 30d --last-copies",
                "Delete everything received more than a month ago."),
            Example(
                "chatfs storage free --chat Family", "Free files of one group that can be received again."),
        ]
    ) { invocation in
        let directory = try await invocation.dataDirectory()
        let (profile, files) = try await ThreadPool.shared.run { () throws(any Error) in
            let profile = try directory.profile(named: invocation[CommonOptions.profile])
            return (profile, try candidates(invocation, of: profile, in: directory))
        }
        let now = SystemWallClock().now()
        let lost = files.filter { !$0.isOnRelay(at: now) }
        if !lost.isEmpty {
            let bytes = lost.compactMap(\.item.file?.size).saturatingSum
            try await Confirmation.ask(
                "Delete \(lost.count) of \(files.count) files (\(ByteCount.rounded(bytes))) for good?",
                invocation)
        }
        let freed = try await CopyRemover(directory: directory, profile: profile).free(
            files.compactMap(\.item.file), lastCopies: invocation[lastCopies])
        let copies = freed.count == 1 ? "1 local copy" : "\(freed.count) local copies"
        let rest = freed.count < files.count ? "; \(files.count - freed.count) stay" : ""
        let relays =
            switch (lost.count, freed.count) {
            case (0, 1...): "; the relays still have \(freed.count == 1 ? "it" : "them")."
            default: "."
            }
        Terminal.note("\(copies) removed (\(ByteCount.rounded(freed.bytes)))\(rest)\(relays)")
    }

    private static func candidates(
        _ invocation: Invocation, of profile: Profile, in directory: DataDirectory
    ) throws -> [PlainExport.Candidate] {
        let now = SystemWallClock().now()
        let known = try directory.namedChats(of: profile)
        let chats = try invocation[chat].map { name in [try known.chat(name)] } ?? known.all
        let limit = invocation[age].map { age in now.advanced(by: .zero - age) }
        return try PlainExport(of: profile, in: directory, chats: chats).candidates.filter { candidate in
            candidate.isReceived && (invocation[lastCopies] || candidate.isOnRelay(at: now))
                && limit.map { candidate.item.time < $0 } ?? true
        }
    }
}
