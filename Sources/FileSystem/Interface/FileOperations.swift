import Glibc
import Namespace

/// What `Fuse` asks for: one method for each operation of the kernel that reaches the files. `FileSystem` in the
/// program, small ones in tests.
///
/// Any thread, many at once. A method answers on the calling thread, from memory, or says `.later` with the work
/// that waits. `list` and `statistics` never wait for anything; what asks for names and attributes only for this disk,
/// while the files of a chat are not in memory. Errors are those of `docs/semantics.md`.
public protocol FileOperations: Sendable {
    // MARK: - Looking

    /// The kernel knows what is found from then on, until `forget`.
    func lookup(_ name: EntryName, in folder: NodeID) -> Answer<Attributes>
    /// The kernel forgets a node that it was told of `count` times, or the answer did not reach it.
    func forget(_ id: NodeID, _ count: UInt64)
    func attributes(_ id: NodeID) -> Answer<Attributes>
    /// access(2), `mask` as there.
    func access(_ id: NodeID, mask: Int32) -> Answer<Void>
    func statistics() -> Result<statvfs, FileSystemError>

    // MARK: - Listing

    /// Answers when `list` knows everything in a folder.
    func prepare(_ folder: NodeID) -> Answer<Void>
    /// Up to `count` entries after the one with number `last`, as they are at this moment. Nil when they were let go
    /// since `prepare`.
    func list(_ folder: NodeID, after last: NodeID?, count: Int) -> [Node]?
    /// What the kernel is told of a node that it keeps from then on, until `forget`. Nil when the node is gone.
    func attributesToKeep(of node: Node) -> Attributes?
    func parent(of id: NodeID) -> NodeID

    // MARK: - Open files

    /// `flags` are those of open(2), without O_CREAT and O_EXCL. One `release` for each.
    /// - Parameter thread: who opens, 0 when the kernel does not say.
    func open(_ id: NodeID, flags: Int32, by thread: pid_t) -> Answer<FileHandle>
    /// A new file, opened for writing. A name that has appeared meanwhile is opened instead, unless `flags` hold
    /// O_EXCL. The kernel knows it as after `lookup`.
    func create(
        _ name: EntryName, in folder: NodeID, flags: Int32, by thread: pid_t
    ) -> Answer<(Attributes, FileHandle)>
    /// Reads up to `buffer.count` bytes at `offset`; fewer only at the end of the file.
    func read(
        _ handle: FileHandle, at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer
    ) -> ReadAnswer
    /// A read is about to be answered with an error. What `thread`, which waits for that, writes meanwhile may lack
    /// what it could not read. Blocks for a moment.
    func readFailed(_ handle: FileHandle, _ error: FileSystemError, by thread: pid_t)
    /// After a read was answered on this thread: what comes next may be made.
    func readWasAnswered(_ handle: FileHandle)
    /// On the calling thread: the bytes are the kernel's and the disk is local.
    /// - Parameter thread: who writes, 0 when the kernel does not say.
    func write(
        _ handle: FileHandle, _ bytes: UnsafeRawBufferPointer, at offset: UInt64, by thread: pid_t
    ) -> Result<Int, FileSystemError>
    /// A descriptor of this opening is being closed by `thread`. As `write`, on the calling thread.
    func flush(_ handle: FileHandle, by thread: pid_t)
    /// fsync(2): what was written survives a power cut.
    func synchronise(_ handle: FileHandle) -> Answer<Void>
    /// The same of a folder: so do the names that were given and taken in it.
    func synchronise(folder: NodeID) -> Answer<Void>
    /// The last reference of the kernel is gone.
    func release(_ handle: FileHandle)

    // MARK: - Changing

    /// chmod, chown, truncate, utimensat.
    /// - Parameters:
    ///   - handle: of ftruncate(2).
    ///   - thread: who asks, 0 when the kernel does not say.
    func change(
        _ id: NodeID, _ change: AttributeChange, through handle: FileHandle?, by thread: pid_t
    ) -> Answer<Attributes>
    /// `flags` are those of renameat2(2).
    /// - Parameter thread: who asks, 0 when the kernel does not say.
    func rename(
        _ name: EntryName, in folder: NodeID, to newName: EntryName, in newFolder: NodeID, flags: UInt32,
        by thread: pid_t
    ) -> Answer<Void>
    /// - Parameter thread: who asks, 0 when the kernel does not say.
    func unlink(_ name: EntryName, in folder: NodeID, by thread: pid_t) -> Answer<Void>
    /// Folders are chats, but for those that are sent as archives. The kernel knows it as after `lookup`.
    func makeFolder(_ name: EntryName, in folder: NodeID) -> Answer<Attributes>
    func removeFolder(_ name: EntryName, in folder: NodeID) -> Answer<Void>

    // MARK: - Extended attributes

    func extendedAttribute(_ name: String, of id: NodeID) -> Answer<[UInt8]>
    /// `flags` are those of setxattr(2).
    func setExtendedAttribute(_ name: String, _ value: [UInt8], of id: NodeID, flags: Int32) -> Answer<Void>
    /// Always refused.
    func removeExtendedAttribute(_ name: String, of id: NodeID) -> Answer<Void>

    // MARK: - The kernel

    /// Where notices go to drop what the kernel keeps. Called from any thread; must not wait.
    func tellKernel(through send: (@Sendable (KernelNotice) -> Void)?)
    /// Where it is told what changed in folders that somebody may be watching. Called from any thread; must not wait.
    func tellWatchers(through send: (@Sendable (WatcherNotice) -> Void)?)
    /// What is shown under a name at this moment, from memory; nil also for what was let go of.
    func shown(_ name: EntryName, in folder: NodeID) -> Node?
    /// Names from the root to a folder; nil when it is gone.
    func path(of folder: NodeID) -> [EntryName]?
    /// Where to ask what the kernel does for this mount. Called from any thread; must not wait.
    func askKernelSide(through ask: @escaping @Sendable () -> KernelSide)
}
