import Base
import CLinux
import FileSystem
import Glibc
import Namespace
import Posix

/// Files that the kernel reads without requests (Documentation/filesystems/fuse-passthrough.rst).
///
/// All concurrent openings of an inode must use the same mode (`fs/fuse/iomode.c`): the page cache, or one common
/// backing file. A different mode fails the open with EIO. The first opening therefore decides, and the others follow
/// until the last is released. The kernel drops the mode before it sends that release. Thread-safe.
final class Passthrough: Sendable {
    private struct Way {
        var openings: Int
        /// Id of the backing file; nil for the page cache.
        var backing: Int32?
    }

    private enum State {
        case off(String)
        case on(connection: Int32)
    }

    private struct Shared {
        var state = State.off("nothing was agreed with the kernel yet")
        var ways: [NodeID: Way] = [:]

        /// Adds an opening in the current mode; returns nil for the first one.
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
    /// Directory of the plain cache, whose files the kernel may read; nil to disable passthrough.
    private let folder: OpenFile?

    init(filesIn folder: OpenFile?) { self.folder = folder }

    /// True if passthrough should be negotiated.
    var isWanted: Bool { folder != nil }

    /// Checks, after FUSE_INIT, whether this process may use passthrough.
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

    /// The state, and the reason if it is off.
    var report: KernelSide.Passthrough {
        switch shared.withLock({ $0.state }) {
        case .on: KernelSide.Passthrough(isOn: true, reason: nil)
        case .off(let reason): KernelSide.Passthrough(isOn: false, reason: reason)
        }
    }

    /// Called before the reply to an open. Returns the id of the backing file, or nil for the page cache. Each call
    /// needs one `ended`.
    func opened(_ handle: FileHandle) -> Int32? {
        guard !handle.bypassesPages else { return nil }
        let first = shared.withLock { shared -> (connection: Int32, known: Way?)? in
            guard case .on(let connection) = shared.state else { return nil }
            return (connection, shared.join(handle.id))
        }
        guard let (connection, known) = first else { return nil }
        if let known { return known.backing }
        // Registered without the lock. If two first openings race, the loser adopts the winner's mode and its backing
        // file is closed again.
        let file = handle.wholePlainFile
        let number = file.map { chatfs_fuse_backing_open(connection, $0.descriptor) } ?? -1
        let backing = number > 0 ? number : nil
        let way = shared.withLock { shared in
            shared.join(handle.id) ?? shared.begin(handle.id, Way(openings: 1, backing: backing))
        }
        if let backing, way.backing != backing { chatfs_fuse_backing_close(connection, backing) }
        return way.backing
    }

    /// Called when an opening was released or its reply was not delivered.
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
        // Mappings stay readable, because the kernel holds the file for them.
        if let last { chatfs_fuse_backing_close(last.0, last.1) }
    }
}

extension KernelSide.Passthrough {
    /// The reason if passthrough was not requested.
    public static let notPlain = "the cache is not plain"
}
