import Base
import FileSystem
import Glibc
import Namespace
import Posix

/// Has the kernel tell those who watch folders (inotify(7)) what changed in them without its doing. Its own notices to
/// the kernel (`KernelNotice`) raise no event; a call on the mount does. So a process of ours makes the file that has
/// appeared, or removes the one that has gone, and the daemon, which knows its requests (`OwnCalls`), answers as if
/// that happened now.
///
/// On a thread of its own, which answers no requests: such a call may wait for a lock that a request holds. Nothing
/// waits for it. The process is started for the first notice and ends some seconds after the last.
final class WatcherNotices: Sendable {
    private struct State {
        var queue = WatcherQueue()
        var isStopped = false
    }

    private let mount: MountTable.Mount
    private let server: RequestServer
    private let fileSystem: any FileOperations
    private let calls: OwnCalls
    private let state = Lock(State())
    private let wakeUp: WakeUp
    private let stopping: WakeUp
    private let log = Log("fuse")

    /// So many in one go: while the process has the root of the mount open, the mount is busy.
    private static let noticesAtOnce = 64
    /// How long the process is kept for what may come.
    private static let linger: Int32 = 5000
    /// Somebody else may look a name up between the moment in which the kernel drops it and the call.
    private static let tries = 4

    init(
        of mount: MountTable.Mount, _ server: RequestServer, _ fileSystem: any FileOperations,
        _ calls: OwnCalls
    ) throws(SystemError) {
        self.mount = mount
        self.server = server
        self.fileSystem = fileSystem
        self.calls = calls
        wakeUp = try WakeUp()
        stopping = try WakeUp()
        try Thread.begin("watchers") { self.run() }
    }

    /// Never waits.
    func add(_ notice: WatcherNotice) {
        let isWanted = state.withLock { state in
            if !state.isStopped { state.queue.add(notice) }
            return !state.isStopped
        }
        if isWanted { wakeUp.notify() }
    }

    /// Nothing is told any more, and the mount is not used. Does not wait for that.
    func stop() {
        state.withLock { state in
            state.isStopped = true
            state.queue.removeAll()
        }
        stopping.notify()
        wakeUp.notify()
    }

    // MARK: - On the thread

    private func run() {
        var process: CallingProcess?
        while !state.withLock({ $0.isStopped }) {
            if let notice = next() {
                process = tell(notice, through: process)
            } else {
                var requests = [pollfd(fd: wakeUp.descriptor, events: Int16(POLLIN), revents: 0)]
                if poll(&requests, milliseconds: process == nil ? -1 : Self.linger) == 0 { process = nil }
                wakeUp.clear()
            }
        }
    }

    private func next() -> WatcherNotice? { state.withLock { $0.queue.next() } }

    /// Tells of this and of what waits behind it, as far as that goes at once. Answers the process for the next.
    private func tell(_ first: WatcherNotice, through earlier: CallingProcess?) -> CallingProcess? {
        // Covered or gone: nobody watches it there.
        guard let path = mount.metPath() else { return earlier }
        let enter = MountCall.enter(
            path: Array(path.utf8), id: UInt64(mount.id), serial: mount.serial ?? 0)
        var process = earlier
        var entered = process?.make(enter)
        if entered == nil {
            // There was none, or it has ended.
            process = start()
            entered = process?.make(enter)
        }
        guard let process, let entered else {
            state.withLock { $0.queue.removeAll() }
            return nil
        }
        guard entered == 0 else { return process }
        guard tell(first, by: process) else { return nil }
        for _ in 1..<Self.noticesAtOnce {
            guard let notice = next() else { break }
            guard tell(notice, by: process) else { return nil }
        }
        return process.make(.leave) == nil ? nil : process
    }

    private func start() -> CallingProcess? {
        do {
            return try CallingProcess(stopping: stopping)
        } catch {
            log.warning("Open windows are not told what arrives: \(error.sentence)")
            return nil
        }
    }

    /// False when the process has ended.
    private func tell(_ notice: WatcherNotice, by process: CallingProcess) -> Bool {
        guard let folders = fileSystem.path(of: notice.folder) else { return true }
        let folder = Array(folders.map(\.bytes).joined(separator: [UInt8(ascii: "/")]))
        func path(_ name: EntryName) -> [UInt8] {
            folder.isEmpty ? name.bytes : folder + [UInt8(ascii: "/")] + name.bytes
        }
        calls.begin(notice, by: process.identifier)
        defer { calls.end() }
        switch notice {
        case .appeared(let node):
            let call: MountCall = node.isFolder ? .makeFolder(path(node.name)) : .makeFile(path(node.name))
            guard let code = make(call, of: node, by: process) else { return false }
            return code != EEXIST || touch(node, at: path(node.name), by: process)
        case .renamed(let node, let old):
            return make(.rename(path(old), to: path(node.name)), of: node, by: process) != nil
        case .vanished(let id, let name, let parent):
            let isFolder = parent == .root || id.isPasted
            let call: MountCall = isFolder ? .removeFolder(path(name)) : .removeFile(path(name))
            guard process.make(call) != nil else { return false }
            // Another one has the name already: it is the last that is told of.
            guard let node = fileSystem.shown(name, in: parent), node.id != id else { return true }
            return tell(.appeared(node), by: process)
        case .changed(let node): return touch(node, at: path(node.name), by: process)
        case .lookAgain: return process.make(.touch(folder, mode: 0o700)) != nil
        }
    }

    /// Makes what has appeared. EEXIST when somebody is faster each time: then nothing is told of it.
    private func make(_ call: MountCall, of node: Node, by process: CallingProcess) -> Int32? {
        var code = process.make(call)
        for _ in 1..<Self.tries where code == EEXIST {
            // Somebody has looked it up: the kernel knows better than to make it.
            server.send(.entry(node.name, in: node.folder))
            code = process.make(call)
        }
        return code
    }

    private func touch(_ node: Node, at path: [UInt8], by process: CallingProcess) -> Bool {
        guard case .now(.success(let attributes)) = fileSystem.attributes(node.id) else { return true }
        return process.make(.touch(path, mode: UInt64(attributes.permissions))) != nil
    }
}
