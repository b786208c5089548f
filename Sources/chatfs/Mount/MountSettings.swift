import Base
import ChatCore
import CommandLineKit
import Configuration
import Cryptography
import EmbeddedCore
import FileSystem
import Fuse
import Glibc
import Hydration
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
    var coreChoice: CoreChoice
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
    /// True if no prompt is possible.
    var isInBackground: Bool

    /// Combines the command line with the configuration's options.
    /// - Parameters:
    ///   - mountpoint: A folder or a name in the configuration; nil for its only mount.
    ///   - phone: The phone, for commands without another core.
    static func configured(
        _ invocation: Invocation, mountpoint: String?, phone: OfficialCoreChoice? = nil
    ) throws -> MountSettings {
        let configuration = try ConfigurationAccess.read()
        let (folder, mount) = try configuration.chosen(mountpoint)
        var settings = try MountSettings(
            invocation.adding(configuration.options(of: mount)),
            mountpoint: try Mountpoint.absolutePath(of: folder), phone: phone)
        settings.chats = mount?.chats ?? []
        settings.configuredName = mount?.name
        return settings
    }

    /// Makes all paths absolute, because a background process changes its directory.
    /// - Parameters:
    ///   - mountpoint: Absolute, without symbolic links.
    ///   - given: The core, for commands without an option for it.
    init(_ invocation: Invocation, mountpoint: String, phone given: OfficialCoreChoice? = nil) throws {
        self.mountpoint = mountpoint
        profile = invocation.ifTaken(CommonOptions.profile)
        directory = try DirectoryAccess(invocation)
        cachePath = AbsolutePath.of(invocation[MountOptions.cacheFolder] ?? Self.defaultCachePath())
        relays = try given == nil ? invocation.relays() : []
        quietTime = invocation[MountOptions.quietTime]
        deletion = invocation[MountOptions.deletion]
        preparation = try MessagePreparation(invocation[MessagePreparation.option])
        previews = invocation[MountOptions.previews]
        folders = invocation[MountOptions.folders]
        notifications = invocation[MountOptions.notifications]
        notificationPreviews = invocation[MountOptions.notificationPreviews]
        silencedNotifications = Set(invocation[MountOptions.silenced])
        callers = CallerPolicy(
            previews: previews, refused: try Self.patterns(invocation, MountOptions.refused),
            allowed: try Self.patterns(invocation, MountOptions.allowed))
        writers = WriterPolicy(resuming: try Self.patterns(invocation, MountOptions.resuming))
        coreChoice = try given.map(CoreChoice.official) ?? CoreChoice(invocation)
        let phone = try PhoneOptions(invocation)
        guard coreChoice.official?.isPhone == true || !phone.isGiven else {
            throw UsageError(
                "--listen, --host, --versions, --policy and --receive-limit go with --core phone")
        }
        coreChoice.official?.phone = phone
        // Messages on a phone are marked as read only with an explicit option.
        let isPhone = coreChoice.official?.isPhone == true
        marksRead = invocation[MountOptions.markRead].map { $0 == .onOpen } ?? !isPhone
        relayPolicy = invocation.ifTaken(MountOptions.relayPolicy)
        isInBackground = invocation[MountOptions.background]
        metricsPath = invocation[MountOptions.metrics].map(AbsolutePath.of)
        hydration.cacheMode = invocation[MountOptions.cache]
        hydration.cacheLimit = invocation[MountOptions.cacheSize]
        hydration.minimumFree = invocation[MountOptions.cacheMinimumFree]
        hydration.finishesWhatWasRead = !invocation[MountOptions.noFinish]
        proxy = try invocation.proxy(MountOptions.proxy)
        // Also made with `refuse`, because the user may permit archives later.
        folderArchiver = FolderArchiver()
        // By default, pasting is refused with a sentence instead.
        guard folderArchiver != nil || folders != .archive || !invocation.isGiven(MountOptions.folders) else {
            throw UsageError("--folders archive needs libarchive (package libarchive13)")
        }
        try check()
    }

    /// Refuses contradictory options.
    private func check() throws {
        let official = coreChoice.official
        if official?.isPhone == true && proxy != nil {
            throw UsageError("--socks-proxy is for a core on this machine, not for a phone")
        }
        if coreChoice.isEmbedded && proxy != nil { throw UsageError("--socks-proxy goes with --core") }
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
        var core = CoreSettings(profile: profile, directory: directory, core: coreChoice)
        core.mountpoint = mountpoint
        core.relays = relays
        core.proxy = proxy
        core.marksRead = marksRead
        core.phoneDisplay = phoneDisplay
        core.relayPolicy = relayPolicy
        core.asksForName = !isInBackground
        return core
    }

    /// Returns the cache directory of a profile. Only one process holds a profile, so only one uses the directory.
    func cacheFolder(profile id: Int64) -> String {
        let place = coreChoice.folder(dataPath: directory.path)
        let mark = Hexadecimal.encode(Array(SHA256.hash(Array(place.utf8)).prefix(8)))
        return "\(cachePath)/\(mark)-\(id)"
    }

    private static func patterns(
        _ invocation: Invocation, _ option: Option<[String]>
    ) throws(UsageError) -> [ProgramPattern] {
        try invocation[option].map { text throws(UsageError) in
            guard let pattern = ProgramPattern(text) else {
                throw UsageError(
                    "--\(option.name) takes the name of a program, or NAME:WORD with a word of its command line"
                )
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
