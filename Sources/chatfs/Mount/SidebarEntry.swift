import Glibc
import Posix

/// Whether the desktop shows the mount in its sidebar by ChatFS's own part (`contrib/file-managers`, "cloud-providers"):
/// Nautilus would show it twice, since it lists all mounts in the home as well.
enum SidebarEntry {
    /// - Parameters:
    ///   - desktop: `XDG_CURRENT_DESKTOP`.
    ///   - dataFolders: `XDG_DATA_DIRS`.
    static func isMade(desktop: String?, dataFolders: String?) -> Bool {
        // Other desktops know nothing of that part: there the mount would be in no sidebar.
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

    /// In the session of this process.
    static var isMade: Bool {
        let value = { (name: String) in getenv(name).map { String(cString: $0) } }
        return isMade(desktop: value("XDG_CURRENT_DESKTOP"), dataFolders: value("XDG_DATA_DIRS"))
    }
}
