import Base
import Glibc
import Posix

/// Which folders of a mount a file manager shows.
///
/// What is in front on a screen nobody is told: neither the kernel nor, on Wayland, a program. What can be seen is that a
/// file manager watches a folder with inotify(7), as they do for each window and tab that shows one, minimised ones too.
/// Others that watch (scripts, synchronisers) show nothing to anybody and do not count. Blocks.
public enum ShownFolders {
    /// Executables, as distributions have them.
    static let fileManagers: Set<String> = [
        "thunar", "nautilus", "org.gnome.Nautilus", "nemo", "caja", "dolphin", "pcmanfm", "pcmanfm-qt",
        "krusader", "konqueror", "spacefm", "doublecmd", "io.elementary.files", "cosmic-files",
        "dde-file-manager", "peony",
    ]

    /// Those of these inode numbers that one of them watches.
    /// - Parameter device: of the mount, as the mount table has it: `0:45`.
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
                guard isInotify("/proc/\(process)/fd/\(descriptor)") else { continue }
                let details =
                    ProcessInformation.bytes(of: "/proc/\(process)/fdinfo/\(descriptor)", limit: 1 << 20)
                    ?? []
                let text = String(decoding: details, as: UTF8.self)
                shown.formUnion(watched(text, serial).intersection(inodes))
            }
        }
        return shown
    }

    private static func isInotify(_ link: String) -> Bool {
        var buffer = [CChar](repeating: 0, count: 64)
        let count = readlink(link, &buffer, buffer.count)
        guard count > 0 else { return false }
        let target = String(decoding: buffer[..<count].lazy.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return target == "anon_inode:inotify"
    }

    /// `inotify wd:1 ino:2a sdev:2d mask:…`, a line for each watch (proc(5)).
    static func watched(_ text: String, _ device: UInt64) -> Set<UInt64> {
        Set(
            text.split(separator: "\n").compactMap { line -> UInt64? in
                let fields = line.split(separator: " ")
                guard fields.first == "inotify",
                    let inode = fields.first(where: { $0.hasPrefix("ino:") }),
                    let found = fields.first(where: { $0.hasPrefix("sdev:") }),
                    UInt64(found.dropFirst(5), radix: 16) == device
                else { return nil }
                return UInt64(inode.dropFirst(4), radix: 16)
            })
    }
}
