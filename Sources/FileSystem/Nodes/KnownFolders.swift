import Base
import Namespace

/// Which folders the kernel knows, and how often it was told of each (`nlookup` of FUSE): nobody watches another one.
/// Any thread, from memory.
final class KnownFolders: Sendable {
    private let counts = Lock<[NodeID: UInt64]>([:])

    /// The kernel is told of a folder that it keeps from then on, until `forget`.
    func tell(_ folder: NodeID) { counts.withLock { $0[folder, default: 0] += 1 } }

    func forget(_ id: NodeID, _ count: UInt64) {
        counts.withLock { counts in
            guard let told = counts[id] else { return }
            counts[id] = told > count ? told - count : nil
        }
    }

    /// The root is known as long as there is a mount.
    func isKnown(_ folder: NodeID) -> Bool { folder == .root || counts.withLock { $0[folder] != nil } }
}
