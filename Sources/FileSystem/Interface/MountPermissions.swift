import Base
import Posix

/// The policies that the user may relax while mounted. Answers from memory; thread-safe.
public final class MountPermissions: Sendable {
    private struct State {
        var deletion: DeletionPolicy
        var folders: FolderPolicy
        var callers: CallerPolicy
    }

    private let archivesFolders: Bool
    private let state: Lock<State>

    /// - Parameter archivesFolders: True if archives can be made of folders.
    init(
        deletion: DeletionPolicy = .refused, folders: FolderPolicy = .refuse,
        callers: CallerPolicy = CallerPolicy(), archivesFolders: Bool = false
    ) {
        self.archivesFolders = archivesFolders
        state = Lock(State(deletion: deletion, folders: folders, callers: callers))
    }

    var deletion: DeletionPolicy { state.withLock { $0.deletion } }
    var folders: FolderPolicy { state.withLock { $0.folders } }
    var callers: CallerPolicy { state.withLock { $0.callers } }

    /// The permission for pasted folders; nil if no archive can be made of them.
    var forFolders: Permission? { archivesFolders ? .folders : nil }

    /// Permits an operation until the mount ends. Policies that permit more stay.
    public func permit(_ permission: Permission) {
        state.withLock { state in
            switch permission {
            case .deletion: if state.deletion == .refused { state.deletion = .own }
            case .folders: if archivesFolders { state.folders = .archive }
            case .program(let name): if let pattern = ProgramPattern(name) { state.callers.allow(pattern) }
            }
        }
    }
}
