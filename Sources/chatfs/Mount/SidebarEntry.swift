import Glibc
import Posix

/// Detects whether ChatFS's own part (`contrib/file-managers`, "cloud-providers") shows the mount in the desktop's
/// sidebar. Nautilus would list it twice, because it also lists all mounts below the home directory.
enum SidebarEntry {
    /// - Parameters:
    ///   - desktop: `XDG_CURRENT_DESKTOP`.
    ///   - dataFolders: `XDG_DATA_DIRS`.
    static func isMade(desktop: String?, dataFolders: String?) -> Bool {
        // Other desktops do not use that part, and would show the mount nowhere.
        guard let desktop,
            desktop.utf8.split(separator: UInt8(ascii: ":")).contains(where: {
                $0.elementsEqual("GNOME".utf8)
            })
        else { return false }
        let folders = dataFolders.flatMap { $0.isEmpty ? nil : $0 } ?? "/usr/local/share:/usr/share"
        return folders.split(separator: ":").contains {
            access("\($0)/cloud-providers/chatfs.ini", R_OK) == 0
        }
    }

    /// The result for this process's session.
    static var isMade: Bool {
        let value = { (name: String) in getenv(name).map { String(cString: $0) } }
        return isMade(desktop: value("XDG_CURRENT_DESKTOP"), dataFolders: value("XDG_DATA_DIRS"))
    }
}
