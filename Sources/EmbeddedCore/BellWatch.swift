import Base
import Glibc
import Posix

/// The one inotify(7) instance of the process, for the bells of all its cores: a user may have only
/// 128 instances (`fs.inotify.max_user_instances`), shared with every other program.
final class BellWatch: Sendable {
    private typealias Listeners = [Int32: [ObjectIdentifier: WakeUp]]

    private let notifications: OpenFile
    /// By watch descriptor: a path that is watched twice has one.
    private let listeners = Lock(Listeners())

    private static let instance = Lock<BellWatch?>(nil)

    /// The process's instance, made by the first caller together with its thread.
    static func shared() throws(SystemError) -> BellWatch {
        try instance.withLock { instance throws(SystemError) in
            if let instance { return instance }
            let watch = try BellWatch()
            instance = watch
            return watch
        }
    }

    private init() throws(SystemError) {
        notifications = OpenFile(
            adopting: try check(
                "listen for messages of other processes (fs.inotify.max_user_instances may be too low)"
            ) { inotify_init1(Int32(IN_CLOEXEC)) })
        Thread.start("bell-watch") { self.read() }
    }

    /// Rings `listener` whenever the file at `path` was written to, until `remove`.
    func add(_ listener: WakeUp, path: String) throws(SystemError) -> Int32 {
        // Inside the lock: a removal of the same file's last listener must not come between.
        try listeners.withLock { listeners throws(SystemError) in
            let watch = try check("listen for messages of other processes") {
                inotify_add_watch(notifications.descriptor, path, UInt32(IN_MODIFY))
            }
            listeners[watch, default: [:]][ObjectIdentifier(listener)] = listener
            return watch
        }
    }

    func remove(_ listener: WakeUp, watch: Int32) {
        listeners.withLock { listeners in
            listeners[watch]?[ObjectIdentifier(listener)] = nil
            if listeners[watch]?.isEmpty == true {
                listeners[watch] = nil
                inotify_rm_watch(notifications.descriptor, watch)
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
            var rung: Set<Int32> = []
            var overflowed = false
            var position = 0
            while position + MemoryLayout<inotify_event>.size <= count {
                let event = buffer.loadUnaligned(fromByteOffset: position, as: inotify_event.self)
                rung.insert(event.wd)
                overflowed = overflowed || event.mask & UInt32(IN_Q_OVERFLOW) != 0
                position += MemoryLayout<inotify_event>.size + Int(event.len)
            }
            let called = listeners.withLock { listeners in
                listeners.filter { overflowed || rung.contains($0.key) }.flatMap { $0.value.values }
            }
            for listener in called { listener.ring() }
        }
    }
}
