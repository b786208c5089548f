import Base
import CLinux
import FileSystem
import Glibc
import Namespace
import Posix

/// Files that the kernel reads by itself, without asking (Documentation/filesystems/fuse-passthrough.rst).
///
/// While an inode is open, all its openings go the same way (`fs/fuse/iomode.c`): through the kernel's cached
/// pages, or through one and the same backing file. Another is EIO for who opens. So the first opening decides,
/// and the others follow until the last of them is released; the kernel lets go of the way before it sends
/// that release. Any thread.
final class Passthrough: Sendable {
    private struct Way {
        var openings: Int
        /// The backing file's number; nil: cached pages.
        var backing: Int32?
    }

    private enum State {
        case off(String)
        case on(connection: Int32)
    }

    private struct Shared {
        var state = State.off("nothing was agreed with the kernel yet")
        var ways: [NodeID: Way] = [:]

        /// One more opening on the way of those before it; nil when it is the first.
        mutating func join(_ node: NodeID) -> Way? {
            ways[node]?.openings += 1
            return ways[node]
        }

        mutating func begin(_ node: NodeID, _ way: Way) -> Way {
            ways[node] = way
            return way
        }
    }

    private let shared = Lock(Shared())
    /// A folder of the cache, when files that lie in it may be read by the kernel.
    private let folder: OpenFile?

    init(filesIn folder: OpenFile?) { self.folder = folder }

    /// Whether it is to be agreed on.
    var isWanted: Bool { folder != nil }

    /// The kernel has taken the agreement: finds out whether this process may.
    func begin(on connection: Int32, isOffered: Bool) {
        let state = probe(connection, isOffered: isOffered)
        shared.withLock { $0.state = state }
    }

    private func probe(_ connection: Int32, isOffered: Bool) -> State {
        guard let folder else { return .off(KernelSide.Passthrough.notPlain) }
        guard isOffered else { return .off("the kernel does not offer it; Linux has it since 6.9") }
        let sample = chatfs_open_unnamed(folder.descriptor)
        guard sample >= 0 else { return .off("the disk of the cache knows no files without names") }
        defer { close(sample) }
        let number = chatfs_fuse_backing_open(connection, sample)
        guard number <= 0 else {
            chatfs_fuse_backing_close(connection, number)
            return .on(connection: connection)
        }
        switch errno {
        case EPERM: return .off("the process has no CAP_SYS_ADMIN")
        case ELOOP: return .off("the disk of the cache is itself stacked on another")
        case let code: return .off(SystemError(code: code, operation: "give a file to the kernel").sentence)
        }
    }

    /// Whether the kernel reads finished files itself, and why not.
    var report: KernelSide.Passthrough {
        switch shared.withLock({ $0.state }) {
        case .on: KernelSide.Passthrough(isOn: true, reason: nil)
        case .off(let reason): KernelSide.Passthrough(isOn: false, reason: reason)
        }
    }

    /// Before an opening is answered: the number of the backing file that it must go through, nil for cached
    /// pages. `ended` follows for each.
    func opened(_ handle: FileHandle) -> Int32? {
        guard !handle.bypassesPages else { return nil }
        let first = shared.withLock { shared -> (connection: Int32, known: Way?)? in
            guard case .on(let connection) = shared.state else { return nil }
            return (connection, shared.join(handle.id))
        }
        guard let (connection, known) = first else { return nil }
        if let known { return known.backing }
        // Given to the kernel without the lock, on suspicion: of two first openings one comes too late, goes the way
        // of the other, and its file is taken back.
        let file = handle.wholePlainFile
        let number = file.map { chatfs_fuse_backing_open(connection, $0.descriptor) } ?? -1
        let backing = number > 0 ? number : nil
        let way = shared.withLock { shared in
            shared.join(handle.id) ?? shared.begin(handle.id, Way(openings: 1, backing: backing))
        }
        if let backing, way.backing != backing { chatfs_fuse_backing_close(connection, backing) }
        return way.backing
    }

    /// An opening was released, or its answer reached nobody.
    func ended(_ handle: FileHandle) {
        guard !handle.bypassesPages else { return }
        let last = shared.withLock { shared -> (Int32, Int32)? in
            guard case .on(let connection) = shared.state, var way = shared.ways[handle.id] else {
                return nil
            }
            way.openings -= 1
            shared.ways[handle.id] = way.openings > 0 ? way : nil
            guard way.openings == 0, let backing = way.backing else { return nil }
            return (connection, backing)
        }
        // What is mapped stays readable: the kernel holds the file for that.
        if let last { chatfs_fuse_backing_close(last.0, last.1) }
    }
}

extension KernelSide.Passthrough {
    /// The reason where nobody asked for it.
    public static let notPlain = "the cache is not plain"
}
