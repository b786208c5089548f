import Glibc
import Namespace

/// The operations that `Fuse` calls, one method for each kernel operation on files. `FileSystem` implements them in the
/// program; tests use small implementations.
///
/// Thread-safe. A method answers on the calling thread from memory, or returns `.later` with the work that waits.
/// `list` and `statistics` never wait. Lookups and attributes wait only for this machine's disk, while the files of a
/// chat are not in memory. `docs/reference/filesystem.md` lists the errors.
public protocol FileOperations: Sendable {
    // MARK: - Lookup

    /// Finds a name. The kernel holds a reference to the node until `forget`.
    func lookup(_ name: EntryName, in folder: NodeID) -> Answer<Attributes>
    /// Drops `count` references of the kernel to the node, also after a reply that did not reach the kernel.
    func forget(_ id: NodeID, _ count: UInt64)
    func attributes(_ id: NodeID) -> Answer<Attributes>
    /// Implements access(2), with its `mask`.
    func access(_ id: NodeID, mask: Int32) -> Answer<Void>
    func statistics() -> Result<statvfs, FileSystemError>

    // MARK: - Listing

    /// Loads all that `list` needs of the folder.
    func prepare(_ folder: NodeID) -> Answer<Void>
    /// Returns up to `count` current entries after the entry with number `last`. Returns nil if the folder was evicted
    /// since `prepare`.
    func list(_ folder: NodeID, after last: NodeID?, count: Int) -> [Node]?
    /// Returns the attributes of a node to which the kernel holds a reference from now on, until `forget`. Returns nil
    /// if the node is gone.
    func attributesToKeep(of node: Node) -> Attributes?
    func parent(of id: NodeID) -> NodeID

    // MARK: - Open files

    /// Opens a file. One `release` must follow each success.
    /// - Parameters:
    ///   - flags: Flags of open(2), without O_CREAT and O_EXCL.
    ///   - thread: The calling thread; 0 if unknown.
    func open(_ id: NodeID, flags: Int32, by thread: pid_t) -> Answer<FileHandle>
    /// Creates a file, opened for writing. Opens a name that has appeared meanwhile, unless `flags` contain O_EXCL. The
    /// kernel holds a reference, as after `lookup`.
    func create(
        _ name: EntryName, in folder: NodeID, flags: Int32, by thread: pid_t
    ) -> Answer<(Attributes, FileHandle)>
    /// Reads up to `buffer.count` bytes at `offset`; fewer only at the end of the file.
    func read(
        _ handle: FileHandle, at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer
    ) -> ReadAnswer
    /// Called before a read is answered with an error. Drafts that `thread` writes at present may lack the unread
    /// bytes. Blocks briefly.
    func readFailed(_ handle: FileHandle, _ error: FileSystemError, by thread: pid_t)
    /// Called on the same thread after a read was answered; may prefetch.
    func readWasAnswered(_ handle: FileHandle)
    /// Writes on the calling thread, because the bytes are in the kernel's buffer and the disk is local.
    /// - Parameter thread: The calling thread; 0 if unknown.
    func write(
        _ handle: FileHandle, _ bytes: UnsafeRawBufferPointer, at offset: UInt64, by thread: pid_t
    ) -> Result<Int, FileSystemError>
    /// Called when `thread` closes a descriptor of this opening. Runs on the calling thread, like `write`.
    func flush(_ handle: FileHandle, by thread: pid_t)
    /// Implements fsync(2): returns after written bytes are durable.
    func synchronise(_ handle: FileHandle) -> Answer<Void>
    /// Implements fsync(2) of a folder: returns after its name changes are durable.
    func synchronise(folder: NodeID) -> Answer<Void>
    /// Called when the kernel drops its last reference to the handle.
    func release(_ handle: FileHandle)

    // MARK: - Changing

    /// Implements chmod, chown, truncate and utimensat.
    /// - Parameters:
    ///   - handle: The open file of ftruncate(2); nil for a change by path.
    ///   - thread: The calling thread; 0 if unknown.
    func change(
        _ id: NodeID, _ change: AttributeChange, through handle: FileHandle?, by thread: pid_t
    ) -> Answer<Attributes>
    /// - Parameters:
    ///   - flags: Flags of renameat2(2).
    ///   - thread: The calling thread; 0 if unknown.
    func rename(
        _ name: EntryName, in folder: NodeID, to newName: EntryName, in newFolder: NodeID, flags: UInt32,
        by thread: pid_t
    ) -> Answer<Void>
    /// - Parameter thread: The calling thread; 0 if unknown.
    func unlink(_ name: EntryName, in folder: NodeID, by thread: pid_t) -> Answer<Void>
    /// Creates a pasted folder, which is sent as an archive; other folders are chats. The kernel holds a reference, as
    /// after `lookup`.
    func makeFolder(_ name: EntryName, in folder: NodeID) -> Answer<Attributes>
    func removeFolder(_ name: EntryName, in folder: NodeID) -> Answer<Void>

    // MARK: - Extended attributes

    func extendedAttribute(_ name: String, of id: NodeID) -> Answer<[UInt8]>
    /// - Parameter flags: Flags of setxattr(2).
    func setExtendedAttribute(_ name: String, _ value: [UInt8], of id: NodeID, flags: Int32) -> Answer<Void>
    /// Always refused.
    func removeExtendedAttribute(_ name: String, of id: NodeID) -> Answer<Void>

    // MARK: - The kernel

    /// Sets the receiver of cache invalidations. It is called from any thread and must not wait.
    func tellKernel(through send: (@Sendable (KernelNotice) -> Void)?)
    /// Sets the receiver of changes in folders that programs may be watching. It is called from any thread and must not
    /// wait.
    func tellWatchers(through send: (@Sendable (WatcherNotice) -> Void)?)
    /// Returns the node shown under a name, from memory; nil if there is none or it was evicted.
    func shown(_ name: EntryName, in folder: NodeID) -> Node?
    /// Returns the names from the root to a folder; nil if it is gone.
    func path(of folder: NodeID) -> [EntryName]?
    /// Sets the source of the kernel's counters. It is called from any thread and must not wait.
    func askKernelSide(through ask: @escaping @Sendable () -> KernelSide)
}
