import Base
import FileSystem
import Glibc
import Namespace
import Posix

/// Notifies programs that watch folders (inotify(7)) of changes not made through the kernel. A `KernelNotice` raises no
/// event; a system call on the mount does. A process of ours therefore creates the appeared file, or removes the
/// vanished one. The daemon recognises its requests (`RepeatedChange`) and answers as if the change happened now.
///
/// Runs on a thread that answers no requests, because such a call may wait for a lock that a request holds. Nothing
/// waits for this thread. While its call is slow, another thread with a process of its own serves other folders. A
/// process starts with the first notice and ends some seconds after the last.
final class WatcherNotices: Sendable {
    private struct State {
        var queue = WatcherQueue()
        /// Folders of the notices that are being delivered.
        var busy: Set<NodeID> = []
        var workers = 1
        /// Number of workers whose call is slow.
        var slow = 0
        var isStopped = false
    }

    private let mount: MountTable.Mount
    private let server: RequestServer
    private let fileSystem: any FileOperations
    private let calls: RepeatedChange
    private let state = Lock(State())
    private let wakeUp: WakeUp
    private let stopping: WakeUp
    private let log = Log("fuse")

    /// Maximum number of notices before the process leaves the mount, which is busy meanwhile.
    private static let noticesAtOnce = 64
    /// Time in milliseconds that an idle process is kept.
    private static let linger: Int32 = 5000
    /// Time in milliseconds before the process starts. Its start competes for the processors with the request that
    /// caused the notice, often the first read of a file.
    private static let startDelay: Int32 = 50
    /// Maximum number of threads.
    private static let maxWorkers = 4
    /// Number of attempts: another process may look up the name between the kernel's drop and the call.
    private static let tries = 4

    init(
        of mount: MountTable.Mount, _ server: RequestServer, _ fileSystem: any FileOperations,
        _ calls: RepeatedChange
    ) throws(SystemError) {
        self.mount = mount
        self.server = server
        self.fileSystem = fileSystem
        self.calls = calls
        wakeUp = try WakeUp()
        stopping = try WakeUp()
        try Thread.begin("watchers") { self.run(isSpare: false) }
    }

    /// Queues a notice. Never waits.
    func add(_ notice: WatcherNotice) {
        let isWanted = state.withLock { state in
            if !state.isStopped { state.queue.add(notice) }
            return !state.isStopped
        }
        if isWanted { wakeUp.notify() }
    }

    /// Discards all notices and leaves the mount. Does not wait.
    func stop() {
        state.withLock { state in
            state.isStopped = true
            state.queue.removeAll()
        }
        stopping.notify()
        wakeUp.notify()
    }

    // MARK: - Threads

    /// - Parameter isSpare: True if the thread ends when no call is slow any more.
    private func run(isSpare: Bool) {
        var process: CallingProcess?
        while !state.withLock({ $0.isStopped }) {
            if let notice = next() {
                process = tell(notice, through: process)
            } else {
                var requests = [pollfd(fd: wakeUp.descriptor, events: Int16(POLLIN), revents: 0)]
                if poll(&requests, milliseconds: process == nil && !isSpare ? -1 : Self.linger) == 0 {
                    process = nil
                    if isSpare, endsSpare() { return }
                }
                wakeUp.clear()
            }
        }
        // Another thread may have cleared the signal of the end.
        wakeUp.notify()
    }

    /// Returns true if another worker can take notices.
    private func endsSpare() -> Bool {
        state.withLock { state in
            guard state.workers - 1 > state.slow else { return false }
            state.workers -= 1
            return true
        }
    }

    /// Returns the next notice, whose folder is busy until it is done.
    /// - Parameter done: The folder of the notice before it.
    private func next(after done: NodeID? = nil) -> WatcherNotice? {
        state.withLock { state in
            if let done { state.busy.remove(done) }
            let notice = state.queue.next(except: state.busy)
            if let notice { state.busy.insert(notice.folder) }
            return notice
        }
    }

    /// Makes a call. While it is slow, another thread takes the notices of other folders.
    private func make(_ call: MountCall, by process: CallingProcess) -> Int32? {
        var isSlow = false
        let code = process.make(call) {
            isSlow = true
            noteSlow()
        }
        if isSlow { state.withLock { $0.slow -= 1 } }
        return code
    }

    private func noteSlow() {
        let begins = state.withLock { state in
            state.slow += 1
            guard state.slow == state.workers, state.workers < Self.maxWorkers, !state.isStopped else {
                return false
            }
            state.workers += 1
            return true
        }
        // An idle thread may have missed a signal.
        guard begins else { return wakeUp.notify() }
        do throws(SystemError) {
            try Thread.begin("watchers") { self.run(isSpare: true) }
        } catch {
            state.withLock { $0.workers -= 1 }
            log.warning("folder watchers wait for one folder: error=\(error.sentence)")
        }
    }

    /// Delivers this notice and those queued behind it. Returns the process for the next call.
    private func tell(_ first: WatcherNotice, through earlier: CallingProcess?) -> CallingProcess? {
        var folder: NodeID? = first.folder
        defer { if let folder { state.withLock { _ = $0.busy.remove(folder) } } }
        // A covered or vanished mount has no watchers there.
        guard let path = mount.metPath() else { return earlier }
        let enter = MountCall.enter(
            path: Array(path.utf8), id: UInt64(mount.id), serial: mount.serial ?? 0)
        var process = earlier
        var entered = process?.make(enter)
        if entered == nil {
            // No process ran, or it has ended.
            var requests = [pollfd(fd: stopping.descriptor, events: Int16(POLLIN), revents: 0)]
            guard poll(&requests, milliseconds: Self.startDelay) == 0 else { return nil }
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
            let notice = next(after: folder)
            folder = notice?.folder
            guard let notice else { break }
            guard tell(notice, by: process) else { return nil }
        }
        return process.make(.leave) == nil ? nil : process
    }

    private func start() -> CallingProcess? {
        do {
            return try CallingProcess(stopping: stopping)
        } catch {
            log.warning("folder watchers not notified: error=\(error.sentence)")
            return nil
        }
    }

    /// Returns false if the process has ended.
    private func tell(_ notice: WatcherNotice, by process: CallingProcess) -> Bool {
        guard let folders = fileSystem.path(of: notice.folder) else { return true }
        let folder = Array(folders.map(\.bytes).joined(separator: [UInt8(ascii: "/")]))
        func path(_ name: EntryName) -> [UInt8] {
            folder.isEmpty ? name.bytes : folder + [UInt8(ascii: "/")] + name.bytes
        }
        calls.begin(notice, by: process.identifier)
        defer { calls.end(by: process.identifier) }
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
            guard make(call, by: process) != nil else { return false }
            // Another node already has the name, so its appearance is the last event.
            guard let node = fileSystem.shown(name, in: parent), node.id != id else { return true }
            return tell(.appeared(node), by: process)
        case .changed(let node): return touch(node, at: path(node.name), by: process)
        case .lookAgain: return make(.touch(folder, mode: 0o700), by: process) != nil
        }
    }

    /// Creates an appeared entry. Returns EEXIST, and raises no event, if another process looks up the name each time.
    private func make(_ call: MountCall, of node: Node, by process: CallingProcess) -> Int32? {
        var code = make(call, by: process)
        for _ in 1..<Self.tries where code == EEXIST {
            // The kernel caches the name since another process's lookup, and would not create it.
            server.send(.entry(node.name, in: node.folder))
            code = make(call, by: process)
        }
        return code
    }

    private func touch(_ node: Node, at path: [UInt8], by process: CallingProcess) -> Bool {
        guard case .now(.success(let attributes)) = fileSystem.attributes(node.id) else { return true }
        return make(.touch(path, mode: UInt64(attributes.permissions)), by: process) != nil
    }
}
