import Base
import CommandLineKit
import Configuration
import Cryptography
import EmbeddedCore
import FileSystem
import Fuse
import Glibc
import Hydration
import Media
import Network
import Notifications
import OfficialCore
import Outbox
import Posix
import XFTP

/// The settings of `chatfs mount`.
struct MountSettings: Sendable {
    /// Absolute, without symbolic links.
    var mountpoint: String
    var profile: String?
    /// The data directory and the ways to unlock it.
    var directory: DirectoryAccess
    var cachePath: String
    var relays: [RelayAddress]
    var quietTime: Duration
    var deletion: DeletionPolicy
    /// Preparation of messages before they are sent.
    var preparation: MessagePreparation
    var previews: PreviewMode
    /// Effect of pasting a folder into a chat.
    var folders: FolderPolicy
    /// Makes archives of pasted folders; nil if none can be made.
    var folderArchiver: FolderArchiver?
    /// Permission bits of the user's new files.
    var entryPermissions: UInt16 = 0o644
    /// Timing and content of notifications.
    var notifications: NotificationMode
    var notificationPreviews: NotificationPreview
    /// Subjects that are not shown.
    var silencedNotifications: Set<NotificationSubject>
    /// Decides which programs may fetch files.
    var callers: CallerPolicy
    /// The programs that write files, and their exit codes.
    var writers: WriterPolicy
    /// nil for the embedded core.
    var official: OfficialCoreChoice?
    /// Display of a phone's link and code.
    var phoneDisplay = LinkDisplay()
    var proxy: SOCKSProxy?
    /// True if opening a file marks its message as read in an official core.
    var marksRead: Bool
    /// nil keeps the profile's policy.
    var relayPolicy: RelayApprovalPolicy?
    /// Mode and limits of the cache.
    var hydration = HydrationSettings()
    /// Absolute path of the metrics file; nil for none.
    var metricsPath: String?
    /// The configuration's chat rules.
    var chats: [Configuration.Chat] = []
    /// The mount's name in the configuration; nil if it has none.
    var configuredName: String?
    /// The options of `chatfs mount`.
    var mountOptions: [Option] = []
    /// True if no prompt is possible.
    var isInBackground: Bool

    /// Combines the command line with the configuration's options.
    /// - Parameters:
    ///   - options: The options of `chatfs mount`; nil if the command is that.
    ///   - phone: The phone, for commands without another core.
    static func configured(
        _ invocation: Invocation, options: [Option]? = nil, phone: OfficialCoreChoice? = nil
    ) throws -> MountSettings {
        let options = options ?? invocation.command.options
        let configuration = try ConfigurationAccess.read(options: options)
        let (folder, mount) = try configuration.chosen(invocation.optionalArgument("MOUNTPOINT"))
        var settings = try MountSettings(
            invocation.adding(configuration.options(of: mount)),
            mountpoint: try Mountpoint.absolutePath(of: folder), phone: phone)
        settings.chats = mount?.chats ?? []
        settings.configuredName = mount?.name
        settings.mountOptions = options
        return settings
    }

    /// Makes all paths absolute, because a background process changes its directory.
    /// - Parameters:
    ///   - mountpoint: Absolute, without symbolic links.
    ///   - given: The core, for commands without an option for it.
    init(_ invocation: Invocation, mountpoint: String, phone given: OfficialCoreChoice? = nil) throws {
        self.mountpoint = mountpoint
        profile = invocation.value(of: "profile")
        directory = try DirectoryAccess(invocation)
        cachePath = AbsolutePath.of(invocation["cache-dir"] ?? Self.defaultCachePath())
        relays = try given == nil ? invocation.relays() : []
        guard let quietTime = invocation.duration("quiet-time") else {
            throw UsageError("--quiet-time takes a time such as 1s")
        }
        self.quietTime = quietTime
        deletion = invocation["delete"].flatMap(DeletionPolicy.init) ?? .refused
        preparation = try MessagePreparation(
            invocation["strip-metadata"].flatMap(MetadataPolicy.init) ?? .never)
        previews = invocation["previews"].flatMap(PreviewMode.init) ?? .message
        folders = invocation["folders"].flatMap(FolderPolicy.init) ?? .archive
        notifications = invocation["notifications"].flatMap(NotificationMode.init) ?? .instant
        notificationPreviews =
            invocation["notification-previews"].flatMap(NotificationPreview.init) ?? .message
        silencedNotifications = Set(invocation.all("silence").compactMap(NotificationSubject.init))
        callers = CallerPolicy(
            previews: previews, refused: try Self.patterns(invocation, "refuse"),
            allowed: try Self.patterns(invocation, "allow"))
        writers = WriterPolicy(resuming: try Self.patterns(invocation, "resumes"))
        official =
            try given
            ?? OfficialCoreChoice(
                core: invocation["core"], database: invocation["database"],
                filesFolder: invocation["files-folder"],
                passphraseDescriptor: invocation["database-passphrase-fd"])
        let phone = try PhoneOptions(invocation)
        guard official?.isPhone == true || !phone.isGiven else {
            throw UsageError(
                "--listen, --host, --versions, --policy and --receive-limit go with --core phone")
        }
        official?.phone = phone
        // Messages on a phone are marked as read only with an explicit option.
        let mark = invocation["mark-read"].flatMap(MarkRead.init)
        let isPhone = official?.isPhone == true
        marksRead = mark.map { $0 == .onOpen } ?? !isPhone
        relayPolicy = invocation.value(of: "relay-policy").flatMap(RelayApprovalPolicy.init)
        isInBackground = invocation.has("background")
        metricsPath = invocation["metrics"].map(AbsolutePath.of)
        hydration.cacheMode = invocation["cache"].flatMap(CacheMode.init) ?? .sealed
        hydration.cacheLimit = invocation.byteCount("cache-size")
        if let free = invocation.byteCount("cache-min-free") { hydration.minimumFree = free }
        hydration.finishesWhatWasRead = !invocation.has("no-finish")
        proxy = try invocation.value(of: "socks-proxy").map { text throws(UsageError) in
            try Invocation.proxy(text)
        }
        // Also made with `refuse`, because the user may permit archives later.
        folderArchiver = FolderArchiver()
        // By default, pasting is refused with a sentence instead.
        guard folderArchiver != nil || folders != .archive || invocation.given["folders"] == nil else {
            throw UsageError("--folders archive needs libarchive (package libarchive13)")
        }
        try check()
    }

    /// Refuses contradictory options.
    private func check() throws {
        if official?.isPhone == true && proxy != nil {
            throw UsageError("--socks-proxy is for a core on this machine, not for a phone")
        }
        if official == nil && proxy != nil { throw UsageError("--socks-proxy goes with --core") }
        if official != nil && !relays.isEmpty {
            throw UsageError(
                "configure relays of an official core in SimpleX; --relay is for ChatFS's own core")
        }
        try official?.checkFilesFolder()
        for path in [official?.filesFolder, official?.databasePrefix, directory.path, cachePath, metricsPath]
        {
            if let path, path.path(below: mountpoint) != nil {
                throw UsageError("data, cache and core files must not be inside the mount")
            }
        }
    }

    /// The settings of the core.
    var core: CoreSettings {
        var core = CoreSettings(profile: profile, directory: directory, official: official)
        core.mountpoint = mountpoint
        core.relays = relays
        core.proxy = proxy
        core.marksRead = marksRead
        core.phoneDisplay = phoneDisplay
        core.relayPolicy = relayPolicy
        core.asksForName = !isInBackground
        return core
    }

    /// The values of `--mark-read`.
    enum MarkRead: String, CaseIterable {
        case onOpen = "on-open"
        case never
    }

    /// Returns the cache directory of a profile. Only one process holds a profile, so only one uses the directory.
    func cacheFolder(profile id: Int64) -> String {
        let place = official?.folder(dataPath: directory.path) ?? directory.path
        let mark = Hexadecimal.encode(Array(SHA256.hash(Array(place.utf8)).prefix(8)))
        return "\(cachePath)/\(mark)-\(id)"
    }

    private static func patterns(
        _ invocation: Invocation, _ option: String
    ) throws(UsageError) -> [ProgramPattern] {
        try invocation.all(option).map { text throws(UsageError) in
            guard let pattern = ProgramPattern(text) else {
                throw UsageError(
                    "--\(option) takes the name of a program, or NAME:WORD with a word of its command line")
            }
            return pattern
        }
    }

    /// XDG Base Directory Specification: relative values are ignored.
    private static func defaultCachePath() -> String {
        if let cache = getenv("XDG_CACHE_HOME").map({ String(cString: $0) }), cache.isAbsolutePath {
            return cache + "/chatfs"
        }
        let home = getenv("HOME").map { String(cString: $0) } ?? "."
        return home + "/.cache/chatfs"
    }
}
