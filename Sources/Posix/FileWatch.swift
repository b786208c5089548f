import Base
import Glibc

/// Tells when files are written to: the one inotify(7) instance of the process, since a user may have only 128
/// of them (`fs.inotify.max_user_instances`), shared with every other program.
///
///     let token = try FileWatch.shared().add("/path/of/file") { changed.notify() }
public final class FileWatch: Sendable {
    /// What ends a watch.
    public struct Token: Hashable, Sendable {
        fileprivate let watch: Int32
        fileprivate let number: UInt64
    }

    private struct State {
        var nextNumber: UInt64 = 0
        /// By watch descriptor: a file that is watched twice has one.
        var listeners: [Int32: [UInt64: @Sendable () -> Void]] = [:]
    }

    private let notifications: OpenFile
    private let state = Lock(State())

    private static let instance = Lock<FileWatch?>(nil)

    /// The process's instance, made by the first caller together with its thread.
    /// - Throws: as inotify_init1(2), EMFILE where the user has as many as there may be.
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

    /// Calls `changed` after every write to the file at `path`, until `remove`: on the thread of all watches, so
    /// it must not wait. Writes that come close together may be one call.
    /// - Throws: as inotify_add_watch(2), ENOSPC where the user watches as many files as there may be.
    public func add(
        _ path: String, changed: @escaping @Sendable () -> Void
    ) throws(SystemError) -> Token {
        // Inside the lock: a removal of the same file's last listener must not come between.
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
