import Glibc
import Namespace
import Posix
import Thumbnails

/// How a mount is to be, beside what it is made of.
public struct FileSystemSettings: Sendable {
    /// Longest wait for a byte without any progress, and for the names in a chat, then ETIMEDOUT.
    public var readDeadline: Duration
    public var deletion: DeletionPolicy
    /// Any open file or folder on the disk that the cache uses, for `statfs`.
    public var cacheDisk: OpenFile
    /// Shown in `status.json`.
    public var mountpoint: String
    /// Folder with the socket on which commands reach this mount, shown there too.
    public var controlFolder: String
    /// The socket for programs, shown there too.
    public var programSocket: String?
    /// Which programs may have files fetched.
    public var callers = CallerPolicy()
    /// Finds out which program a thread is part of, nil where that cannot be seen. May block for a while.
    public var identifyCaller: @Sendable (_ thread: pid_t) -> Caller? = CallerCheck.systemCaller
    /// The same of how its program treats files, and whether it shows the folder with this number.
    public var lookAtProgram: @Sendable (_ thread: pid_t, _ folder: NodeID) -> ProgramTraits? = { _, _ in nil
    }
    /// Which names settle the type of a file for windows that list it.
    public var typeNames = TypeNames()
    /// How long that may take: who is not identified by then is served.
    public var callerTimeout = Duration.seconds(1)
    /// The desktop's thumbnail cache, which forgets what is gone; nil where there is none.
    public var desktop: DesktopThumbnails?
    /// Makes thumbnails of the previews that messages carry; nil: none are offered.
    public var thumbnailMaker: (any ThumbnailMaking)?
    /// Files that have their attributes in memory, beyond those of the chat that was looked at last.
    public var itemsInMemory = ItemMemory.usualLimit
    /// Files whose attributes are read when the mount begins, before anybody looks: those of the chats with the
    /// newest messages.
    public var itemsLoadedAhead = ItemMemory.usualLimit

    /// Permission bits of what was sent or received. Nothing is ever written into it, but copies get them, so they are
    /// those of a new file of the user.
    public var entryPermissions: UInt16 = 0o644

    /// What becomes of folders that are pasted into chats.
    public var folders = FolderPolicy.archive
    /// Makes archives of them; nil: none can be made.
    public var folderArchiver: (any FolderArchiving)?
    /// How long nothing may change in such a folder before its archive is made.
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
