import ChatCore
import CommandLineKit
import EmbeddedCore
import FileSystem
import Hydration
import Notifications

/// The options of `chatfs mount`, which are the keys of a mount in the configuration.
enum MountOptions {
    /// In the order of help.
    static let all: [any OptionDeclaration] =
        [
            CommonOptions.profile, cacheFolder, cache, cacheSize, cacheMinimumFree, noFinish.configurable,
            CommonOptions.relay,
        ] + CommonOptions.official + PhoneOptions.options + [
            proxy, markRead, relayPolicy, quietTime, deletion, MessagePreparation.option, previews, folders,
            refused, allowed, resuming, notifications, notificationPreviews, silenced, save, metrics,
            background,
            CommonOptions.noEncryption.configurable,
        ] + CommonOptions.directory

    static let cacheFolder = Option(
        "cache-dir", named: "DIR", .folder,
        "Folder of the cache; default ${XDG_CACHE_HOME:-~/.cache}/chatfs.")
    static let cache = Option(
        "cache", named: "MODE", .choice(CacheMode.self), default: HydrationSettings().cacheMode,
        "How to store parts of files: encrypted as on the relays (sealed), with decrypted copies of complete files "
            + "(plain), or only in memory.")
    static let cacheSize = Option(
        "cache-size", named: "LIMIT", .byteCount,
        "Maximum size of the cache. The least recently used files are evicted first, open and pinned files never. "
            + "Default: no limit, and 64 MiB with --cache memory.")
    static let cacheMinimumFree = Option(
        "cache-min-free", named: "BYTES", .byteCount, default: HydrationSettings().minimumFree,
        "Free space to leave on the disks of the cache and the data; chunks that do not fit stay in memory for a "
            + "short time."
    )
    static let noFinish = Option.flag(
        "no-finish",
        "Do not complete files that were only partly read. By default, reading more than the first chunk "
            + "downloads the rest.")
    static let proxy = Option(
        "socks-proxy", named: "HOST:PORT", .text, "With --core: fetch chunks through this SOCKS5 proxy.")
    static let markRead = Option(
        "mark-read", named: "WHEN", .choice(MarkRead.self),
        "With --core: on-open marks the message of an opened file as read, which starts the timer of a "
            + "disappearing message; or never. Default: on-open, with a phone never.")
    static let relayPolicy = Option(
        "relay-policy", named: "POLICY", .choice(RelayApprovalPolicy.self),
        "For files on relays that you did not configure: ask (not received), always, never. Default: the last "
            + "setting, initially ask.")
    static let quietTime = Option(
        "quiet-time", named: "TIME", .duration, default: .seconds(1),
        "Delay after a file is closed before it is sent.")
    static let deletion = Option(
        "delete", named: "WHAT", .choice(DeletionPolicy.self), default: .refused,
        "Effect of rm on a message: refused, for this user, for all (own, last 24 hours).")
    static let previews = Option(
        "previews", named: "WHERE", .choice(PreviewMode.self), default: .message,
        "Source of file managers' pictures of files that are not local: the message, the downloaded file, or none."
    )
    static let folders = Option(
        "folders", named: "WHAT", .choice(FolderPolicy.self), default: .archive,
        "How to treat a folder that is copied into a chat: refuse it before its first file, or send it as one "
            + "archive (a ZIP) after five times the quiet time without a change in it.")
    static let refused = Option.list(
        "refuse", named: "PROGRAM", .text,
        "A program that may not start downloads, beside thumbnailers, indexers, scanners and backup programs: a "
            + "name, a path, or NAME:WORD of its command line; * stands for any characters.")
    static let allowed = Option.list(
        "allow", named: "PROGRAM", .text,
        "A program that may start downloads all the same. The longest of several matching patterns decides.")
    static let resuming = Option.list(
        "resumes", named: "PROGRAM", .text,
        "A program that may reopen and continue a file that it has closed, beside wget, curl, rsync and others: "
            + "the file is sent after the program has ended, or after 900 times the quiet time without a write."
    )
    static let notifications = Option(
        "notifications", named: "WHEN", .choice(NotificationMode.self), default: .instant,
        "When to notify of arrivals, pending actions and failed files: at once, every 20 minutes, or never.")
    static let notificationPreviews = Option(
        "notification-previews", named: "WHAT", .choice(NotificationPreview.self), default: .message,
        "Content of notifications: names of files and their captions, only the chat, or neither.")
    static let silenced = Option.list(
        "silence", named: "KIND", .choice(NotificationSubject.self),
        "A kind of notification to hide; arrivals still count as unread.")
    static let save = Option(
        "save", named: "NAME", .text,
        "Add this mount and the options given here to the configuration; 'chatfs mount NAME' repeats them.")
    static let metrics = Option(
        "metrics", named: "FILE", .file,
        "Write counters and latencies to this file every 10 seconds, in OpenMetrics text format.")
    static let background = Option.flag("background", "Return when the folder is ready, and keep it mounted.")

    /// The values of `--mark-read`.
    enum MarkRead: String, CaseIterable, Sendable {
        case onOpen = "on-open"
        case never
    }
}
