import Base
import Glibc
import Namespace
import Posix

/// Inspects programs that open files of this process's mount, for `TypeDetection`. Thread-safe; may block.
struct FolderViewers: Sendable {
    private let mountpoint: String
    /// The mount once it exists. The device number comes from the mount table, because a process must not call stat on
    /// its own mount.
    private let found = Lock<MountTable.Mount?>(nil)

    init(mountpoint: String) { self.mountpoint = mountpoint }

    @Sendable func look(at thread: pid_t, _ folder: NodeID) -> ProgramTraits? {
        ProgramTraits(of: thread, folder: folder.rawValue, on: own())
    }

    private func own() -> MountTable.Mount? {
        if let known = found.withLock({ $0 }) { return known }
        let own = try? MountTable.mount(at: mountpoint)
        found.withLock { $0 = own }
        return own
    }
}
