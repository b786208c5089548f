import Base
import Glibc
import Namespace
import Posix

/// Looks at programs that open files of this process's mount, for `TypeDetection`. Any thread; may wait for the
/// program.
struct FolderViewers: Sendable {
    private let mountpoint: String
    /// The mount, once it is there. A process must not ask its own mount for its number: the kernel's table has it.
    private let found = Found()

    private final class Found: Sendable {
        let mount = Lock<MountTable.Mount?>(nil)
    }

    init(mountpoint: String) { self.mountpoint = mountpoint }

    @Sendable func look(at thread: pid_t, _ folder: NodeID) -> ProgramTraits? {
        ProgramTraits(of: thread, folder: folder.rawValue, on: own())
    }

    private func own() -> MountTable.Mount? {
        if let known = found.mount.withLock({ $0 }) { return known }
        let own = try? MountTable.mount(at: mountpoint)
        found.mount.withLock { $0 = own }
        return own
    }
}
