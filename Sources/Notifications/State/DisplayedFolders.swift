import Base
import Glibc
import Posix

/// Finds folders of a mount that a file manager displays.
///
/// Neither the kernel nor, on Wayland, a program can tell which window is in front. But file managers watch each
/// displayed folder with inotify(7), in minimised windows too. Watches of other programs (scripts, synchronisers) do
/// not count. Blocks.
public enum DisplayedFolders {
    /// Names of executables in distributions.
    static let fileManagers: Set<String> = [
        "thunar", "nautilus", "org.gnome.Nautilus", "nemo", "caja", "dolphin", "pcmanfm", "pcmanfm-qt",
        "krusader", "konqueror", "spacefm", "doublecmd", "io.elementary.files", "cosmic-files",
        "dde-file-manager", "peony",
    ]

    /// Returns those of the inode numbers that a file manager watches.
    /// - Parameter device: The mount's device from the mount table, such as `0:45`.
    public static func shown(_ inodes: Set<UInt64>, on device: String) -> Set<UInt64> {
        let numbers = device.split(separator: ":").compactMap { UInt64($0) }
        guard numbers.count == 2, !inodes.isEmpty else { return [] }
        let serial = numbers[0] << 20 | numbers[1]
        var shown: Set<UInt64> = []
        for process in ProcessInformation.processes() {
            guard let path = RunningProgram.executable(of: process),
                fileManagers.contains(path.lastPathName ?? "")
            else { continue }
            for descriptor in ProcessInformation.names(in: "/proc/\(process)/fd") {
                let target = SymbolicLink.target(of: "/proc/\(process)/fd/\(descriptor)")
                guard target == "anon_inode:inotify" else { continue }
                let details =
                    ProcessInformation.bytes(of: "/proc/\(process)/fdinfo/\(descriptor)", limit: 1 << 20)
                    ?? []
                let text = String(decoding: details, as: UTF8.self)
                shown.formUnion(watched(text, serial).intersection(inodes))
            }
        }
        return shown
    }

    /// Parses lines like `inotify wd:1 ino:2a sdev:2d mask:fc6 …` (proc(5)). A file manager watches a displayed
    /// folder for its own deletion too. ChatFS' plugin in Dolphin does not, because it also watches folders that
    /// are no longer displayed.
    static func watched(_ text: String, _ device: UInt64) -> Set<UInt64> {
        Set(
            text.split(separator: "\n").compactMap { line -> UInt64? in
                let fields = line.split(separator: " ")
                let number = { (name: String) -> UInt64? in
                    fields.first { $0.hasPrefix(name) }
                        .flatMap { UInt64($0.dropFirst(name.count), radix: 16) }
                }
                guard fields.first == "inotify", number("sdev:") == device,
                    let mask = number("mask:"), mask & UInt64(IN_DELETE_SELF) != 0
                else { return nil }
                return number("ino:")
            })
    }
}
