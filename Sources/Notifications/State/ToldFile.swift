import ChatCore
import Glibc
import Posix

/// Where it is kept what users were told: a file in the folder of a profile, which its mount holds. Blocks.
public enum ToldFile {
    static let name = "notifications"

    /// Nil where there is none, or none that makes sense: then all that is there is history.
    public static func read(in folder: OpenFile) -> ToldNotifications? {
        guard let file = try? OpenFile(name, flags: O_RDONLY, in: folder),
            let bytes = try? file.readAll(limit: 16 << 20)
        else { return nil }
        return ToldNotifications(String(decoding: bytes, as: UTF8.self))
    }

    /// In one step.
    /// - Throws: as `PrivateFolder.write`.
    public static func write(_ told: ToldNotifications, in folder: OpenFile) throws(SystemError) {
        try PrivateFolder.write(Array(told.text.utf8), to: name, in: folder)
    }

    /// What comes until they are wanted again is history then.
    public static func remove(in folder: OpenFile) { unlinkat(folder.descriptor, name, 0) }
}
