import ChatCore
import Posix

/// Settings of a `Notifier`.
public struct NotifierSettings: Sendable {
    public var mode: NotificationMode
    public var preview: NotificationPreview
    /// Subjects that are not shown.
    public var silenced: Set<NotificationSubject>
    /// The profile's directory, where the state is stored.
    public var folder: OpenFile
    /// `$XDG_RUNTIME_DIR`, where a user's mounts add up their unopened files.
    public var runtimeFolder: String?
    /// Returns which of these chats are muted and which a window displays. Blocks.
    public var silent: @Sendable (Set<ChatReference>) -> SilentChats
    /// Returns the picture of a message. Blocks for some seconds at most.
    public var picture: @Sendable (NotifiedFile) -> NotificationPicture?
    /// Performs a button's action. Must not wait.
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
