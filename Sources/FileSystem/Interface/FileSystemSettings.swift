import ChatCore
import Glibc
import Namespace
import Posix
import Thumbnails

/// The options of a mount.
public struct FileSystemSettings: Sendable {
    /// Maximum wait of a read without progress, and for the names of a chat. ETIMEDOUT follows.
    public var readDeadline: Duration
    public var deletion: DeletionPolicy
    /// An open file or directory on the cache's disk, for `statfs`.
    public var cacheDisk: OpenFile
    /// Shown in `status.json`.
    public var mountpoint: String
    /// Directory of the control socket, shown in `status.json`.
    public var controlFolder: String
    /// Path of the program socket, shown in `status.json`.
    public var programSocket: String?
    /// Decides which programs may fetch files.
    public var callers = CallerPolicy()
    /// Returns the program of a thread, or nil if it is unknown. May block for a while.
    public var identifyCaller: @Sendable (_ thread: pid_t) -> Caller? = CallerCheck.systemCaller
    /// Returns how the thread's program treats files, and whether it displays the folder. May block.
    public var lookAtProgram: @Sendable (_ thread: pid_t, _ folder: NodeID) -> ProgramTraits? = { _, _ in nil
    }
    /// File names that determine the type for windows that list them.
    public var typeNames = TypeNames()
    /// Returns the type of the first bytes of a picture, nil for any other file; nil if types follow names alone.
    public var recognisePicture: (@Sendable (_ start: [UInt8]) -> MediaType?)?
    /// Time limit of `identifyCaller`. An unidentified program gets full access.
    public var callerTimeout = Duration.seconds(1)
    /// Maximum wait of open(2), unlink(2) and setxattr(2) for the core, which usually replies in milliseconds.
    public var changeTimeout = Duration.seconds(5)
    /// The desktop's thumbnail cache, from which vanished entries are removed; nil if there is none.
    public var desktop: DesktopThumbnails?
    /// Renders thumbnails of message previews; nil to offer none.
    public var thumbnailMaker: (any ThumbnailMaking)?
    /// Maximum number of items in memory, beyond those of the two chats used last.
    public var itemsInMemory = ItemMemory.usualLimit
    /// Maximum number of items loaded when the mount begins, from the chats with the newest messages.
    public var itemsLoadedAhead = ItemMemory.usualLimit

    /// Permission bits of sent and received files. They are never writable, but copies inherit the bits, so these are
    /// those of the user's new files.
    public var entryPermissions: UInt16 = 0o644

    /// Effect of pasting a folder into a chat.
    public var folders = FolderPolicy.archive
    /// Makes archives of pasted folders; nil if none can be made.
    public var folderArchiver: (any FolderArchiving)?
    /// Time without changes before a pasted folder is archived.
    public var folderQuietTime = Duration.seconds(5)

    public init(
        readDeadline: Duration = .seconds(30), deletion: DeletionPolicy = .refused,
        cacheDisk: OpenFile, mountpoint: String, controlFolder: String = ""
    ) {
        self.controlFolder = controlFolder
        self.readDeadline = readDeadline
        self.deletion = deletion
        self.cacheDisk = cacheDisk
        self.mountpoint = mountpoint
    }
}
