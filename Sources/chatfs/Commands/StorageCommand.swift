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
    static let command = Command(
        "storage", "Show what takes space on the disk, and delete copies of files.",
        section: CommandSection.data, subcommands: [show, free])

    private static let show = Command(
        "show", "Print what lies where, by chat.",
        discussion: """
            Files that are here, those of them that relays still have (they could go and be had again), and files that are \
            not here; then drafts, databases, what was set aside, and the cache of a mount.
            """,
        options: [.flag("json", "For programs."), CommonOptions.profile, CommonOptions.mount]
            + CommonOptions.directory,
        examples: [Example("chatfs storage show --profile alice", "What alice has.")]
    ) { invocation in
        let directory = try await invocation.dataDirectory()
        let (use, own) = try await ThreadPool.shared.run { () throws(any Error) in
            let profile = try directory.profile(named: invocation["profile"])
            let use = try StorageUse(of: profile, in: directory, now: SystemWallClock().now())
            return (use, try directory.folders(of: profile).own)
        }
        var whole = use
        whole.cached = await cached(ofProfileIn: own)
        if invocation.has("json") { return Terminal.print(try JSONLine.encoded(whole)) }
        for line in lines(whole) { Terminal.print(PrintableText.escaping(line)) }
    }

    /// Returns nil if not mounted or unknown.
    private static func cached(ofProfileIn folder: String) async -> UInt64? {
        for mounted in (try? Mounted.all()) ?? [] {
            if case .status(let bytes) = await mounted.answer(), let status = MountStatus.decoded(bytes),
                status.controlFolder == folder
            {
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
        "\(amount.files) file\(amount.files == 1 ? "" : "s") (\(ByteCount.rounded(amount.bytes)))"
    }

    // MARK: - Removing copies

    private static let free = Command(
        "free", "Delete copies of received files; their messages stay.",
        discussion: """
            What relays still have becomes a placeholder, which reading receives again. With --last-copies what they have \
            not goes too, for good: that is asked for once more. What you sent, and notes, stay. A mount does it itself.
            """,
        options: [
            .value("chat", named: "NAME", .listed("chats"), "Only of this contact or group."),
            .value("older-than", named: "TIME", .duration, "Only of messages that are older: 30d, 48h."),
            .flag("last-copies", "Also what no relay has any more."),
            Confirmation.option, CommonOptions.profile, CommonOptions.mount,
        ] + CommonOptions.directory,
        examples: [
            Example(
                "chatfs storage free --older-than 30d --last-copies",
                "Everything received a month ago and before."),
            Example("chatfs storage free --chat Family", "Of one group, what can be had again."),
        ]
    ) { invocation in
        let directory = try await invocation.dataDirectory()
        let (profile, files) = try await ThreadPool.shared.run { () throws(any Error) in
            let profile = try directory.profile(named: invocation["profile"])
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
            files.compactMap(\.item.file), lastCopies: invocation.has("last-copies"))
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
        let chats = try invocation["chat"].map { name in [try known.chat(name)] } ?? known.all
        let limit = invocation.duration("older-than").map { age in now.advanced(by: .zero - age) }
        return try PlainExport(of: profile, in: directory, chats: chats).candidates.filter { candidate in
            candidate.isReceived && (invocation.has("last-copies") || candidate.isOnRelay(at: now))
                && limit.map { candidate.item.time < $0 } ?? true
        }
    }
}
