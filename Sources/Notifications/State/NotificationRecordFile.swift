import ChatCore
import Glibc
import Posix

/// Stores the notification state in a file of the profile's directory. Blocks.
public enum NotificationRecordFile {
    static let name = "notifications"

    /// Returns nil if there is no valid file; then all existing messages are history.
    public static func read(in folder: OpenFile) -> NotificationRecord? {
        guard let file = try? OpenFile(name, flags: O_RDONLY, in: folder),
            let bytes = try? file.readAll(limit: 16 << 20)
        else { return nil }
        return NotificationRecord(String(decoding: bytes, as: UTF8.self))
    }

    /// Replaces the file atomically.
    /// - Throws: The errors of `PrivateFolder.write`.
    public static func write(_ told: NotificationRecord, in folder: OpenFile) throws(SystemError) {
        try PrivateFolder.write(Array(told.text.utf8), to: name, in: folder)
    }

    /// Removes the file; messages until the next activation become history.
    public static func remove(in folder: OpenFile) { unlinkat(folder.descriptor, name, 0) }
}
