import Base
import Glibc
import Posix
import Synchronization

/// The number of unopened files over all mounts of a user. Each mount writes its number to a locked file below
/// `$XDG_RUNTIME_DIR` and is notified of the others' writes. Files of killed mounts are removed by the next read. Used
/// by one thread.
final class UnreadTotals: Sendable {
    private let folder: OpenFile
    private let own: OpenFile
    private let name: String
    private let watch: FileWatch?
    private let token: FileWatch.Token?
    private let last = Atomic(-1)

    private static let nextNumber = Atomic(0)

    /// Returns nil if the file cannot be created; the mount then counts alone.
    /// - Parameter changed: Called on the thread of all watches; must not wait.
    init?(in runtimeFolder: String, changed: @escaping @Sendable () -> Void) {
        let number = Self.nextNumber.wrappingAdd(1, ordering: .relaxed).newValue
        let name = "\(getpid())-\(number)"
        guard runtimeFolder.isAbsolutePath, let outer = try? OpenFile(runtimeFolder, flags: O_RDONLY),
            let chatfs = try? PrivateFolder.folder("chatfs", in: outer),
            let folder = try? PrivateFolder.folder("unread", in: chatfs), Self.isOurs(folder),
            let own = try? OpenFile("." + name, flags: O_RDWR | O_CREAT | O_TRUNC, in: folder),
            (try? own.tryLock()) == true,
            // Locked before it is visible, because an unlocked file counts as abandoned.
            renameat(folder.descriptor, "." + name, folder.descriptor, name) == 0
        else { return nil }
        self.folder = folder
        self.own = own
        self.name = name
        let watch = try? FileWatch.shared()
        self.watch = watch
        token = try? watch?.add("\(runtimeFolder)/chatfs/unread", changed: changed)
    }

    private static func isOurs(_ folder: OpenFile) -> Bool {
        guard let status = try? folder.status() else { return false }
        return status.st_uid == geteuid() && status.st_mode & 0o077 == 0
    }

    func set(_ count: Int) {
        guard last.exchange(count, ordering: .relaxed) != count else { return }
        // Fixed width, so that a read never sees a partial number.
        let digits = String(count)
        let text = String(repeating: "0", count: max(0, 8 - digits.count)) + digits
        try? own.write(Array(text.utf8), at: 0)
    }

    /// Returns the sum of the other mounts' numbers.
    func others() -> Int {
        var sum = 0
        for other in (try? PrivateFolder.names(in: folder)) ?? [] where other != name && !other.hasPrefix(".")
        {
            guard let file = try? OpenFile(other, flags: O_RDWR, in: folder) else { continue }
            if (try? file.tryLock()) == true {
                unlinkat(folder.descriptor, other, 0)
                continue
            }
            let bytes = (try? file.read(count: 8, at: 0)) ?? []
            sum += Int(String(decoding: bytes, as: UTF8.self)).map { max(0, $0) } ?? 0
        }
        return min(sum, Self.maxTotal)
    }

    private static let maxTotal = 1_000_000

    /// Removes the file when the mount ends.
    func remove() {
        set(0)
        if let token { watch?.remove(token) }
        unlinkat(folder.descriptor, name, 0)
    }
}
