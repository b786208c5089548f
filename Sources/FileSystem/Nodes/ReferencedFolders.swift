import Base
import Namespace

/// Counts the kernel's references to folders (`nlookup` of FUSE). Programs can watch only referenced folders. Answers
/// from memory; thread-safe.
final class ReferencedFolders: Sendable {
    private let counts = Lock<[NodeID: UInt64]>([:])

    /// Adds a reference, held until `forget`.
    func tell(_ folder: NodeID) { counts.withLock { $0[folder, default: 0] += 1 } }

    func forget(_ id: NodeID, _ count: UInt64) {
        counts.withLock { counts in
            guard let told = counts[id] else { return }
            counts[id] = told > count ? told - count : nil
        }
    }

    /// Returns true if the kernel references the folder; always for the root.
    func isKnown(_ folder: NodeID) -> Bool { folder == .root || counts.withLock { $0[folder] != nil } }
}
