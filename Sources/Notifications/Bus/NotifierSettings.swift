import ChatCore
import Posix

/// What a `Notifier` needs of a mount.
public struct NotifierSettings: Sendable {
    public var mode: NotificationMode
    public var preview: NotificationPreview
    /// Of these nothing is shown.
    public var silenced: Set<NotificationSubject>
    /// Of the profile, where is kept what was told.
    public var folder: OpenFile
    /// `$XDG_RUNTIME_DIR`, where mounts of one user add up what nobody has opened.
    public var runtimeFolder: String?
    /// Of these chats those that are muted, and those that somebody looks at. Blocks.
    public var silent: @Sendable (Set<ChatReference>) -> SilentChats
    /// The picture of a message. Blocks for some seconds at most.
    public var picture: @Sendable (NotifiedFile) -> NotificationPicture?
    /// Does what a button says. Must not wait.
    public var perform: @Sendable (NotificationAction) -> Void

    public init(
        mode: NotificationMode, preview: NotificationPreview, silenced: Set<NotificationSubject> = [],
        folder: OpenFile, runtimeFolder: String?,
        silent: @escaping @Sendable (Set<ChatReference>) -> SilentChats,
        picture: @escaping @Sendable (NotifiedFile) -> NotificationPicture? = { _ in nil },
        perform: @escaping @Sendable (NotificationAction) -> Void
    ) {
        self.silenced = silenced
        self.picture = picture
        self.mode = mode
        self.preview = preview
        self.folder = folder
        self.runtimeFolder = runtimeFolder
        self.silent = silent
        self.perform = perform
    }
}
