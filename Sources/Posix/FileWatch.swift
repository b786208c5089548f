import Base
import Glibc

/// Reports writes to files, with the process's only inotify(7) instance, because a user may have only 128 of them
/// (`fs.inotify.max_user_instances`).
///
///     let token = try FileWatch.shared().add("/path/of/file") { changed.notify() }
public final class FileWatch: Sendable {
    /// Identifies a watch for its removal.
    public struct Token: Hashable, Sendable {
        fileprivate let watch: Int32
        fileprivate let number: UInt64
    }

    private struct State {
        var nextNumber: UInt64 = 0
        /// By watch descriptor: all watches of one file share it.
        var listeners: [Int32: [UInt64: @Sendable () -> Void]] = [:]
    }

    private let notifications: OpenFile
    private let state = Lock(State())

    private static let instance = Lock<FileWatch?>(nil)

    /// The process's instance, created by the first caller together with its thread.
    /// - Throws: As inotify_init1(2), EMFILE if the user has too many.
    public static func shared() throws(SystemError) -> FileWatch {
        try instance.withLock { instance throws(SystemError) in
            if let instance { return instance }
            let watch = try FileWatch()
            instance = watch
            return watch
        }
    }

    private init() throws(SystemError) {
        notifications = OpenFile(
            adopting: try check(
                "watch a file (fs.inotify.max_user_instances may be too low)"
            ) { inotify_init1(Int32(IN_CLOEXEC)) })
        Thread.start("file-watch") { self.read() }
    }

    /// Calls `changed` after every write to the file at `path` until `remove`, on the common thread, so it must not
    /// block. Close writes may share a call.
    /// - Throws: As inotify_add_watch(2), ENOSPC if the user watches too many files.
    public func add(
        _ path: String, changed: @escaping @Sendable () -> Void
    ) throws(SystemError) -> Token {
        // Inside the lock, because a concurrent removal of the file's last watch would remove the descriptor.
        try state.withLock { state throws(SystemError) in
            let watch = try check("watch a file") {
                inotify_add_watch(notifications.descriptor, path, UInt32(IN_MODIFY))
            }
            state.nextNumber += 1
            state.listeners[watch, default: [:]][state.nextNumber] = changed
            return Token(watch: watch, number: state.nextNumber)
        }
    }

    public func remove(_ token: Token) {
        state.withLock { state in
            state.listeners[token.watch]?[token.number] = nil
            if state.listeners[token.watch]?.isEmpty == true {
                state.listeners[token.watch] = nil
                inotify_rm_watch(notifications.descriptor, token.watch)
            }
        }
    }

    private func read() {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 8)
        while true {
            let count = Glibc.read(notifications.descriptor, buffer.baseAddress, buffer.count)
            guard count > 0 else {
                if errno == EINTR { continue }
                return
            }
            var written: Set<Int32> = []
            var overflowed = false
            var position = 0
            while position + MemoryLayout<inotify_event>.size <= count {
                let event = buffer.loadUnaligned(fromByteOffset: position, as: inotify_event.self)
                written.insert(event.wd)
                overflowed = overflowed || event.mask & UInt32(IN_Q_OVERFLOW) != 0
                position += MemoryLayout<inotify_event>.size + Int(event.len)
            }
            let called = state.withLock { state in
                state.listeners.filter { overflowed || written.contains($0.key) }.flatMap { $0.value.values }
            }
            for changed in called { changed() }
        }
    }
}
