import Base
import Glibc

/// Signs of a program's use of files, from proc(5): its loaded libraries for type detection, and whether it shows a
/// folder.
public struct ProgramTraits: Hashable, Sendable {
    public var loadsGIO: Bool
    public var loadsQt: Bool
    /// It watches the folder with inotify(7), as file managers do, or has it open.
    public var showsFolder: Bool
    /// The thread copies and lists files for KDE.
    public var isWorker: Bool

    public init(
        loadsGIO: Bool = false, loadsQt: Bool = false, showsFolder: Bool = false, isWorker: Bool = false
    ) {
        self.loadsGIO = loadsGIO
        self.loadsQt = loadsQt
        self.showsFolder = showsFolder
        self.isWorker = isWorker
    }

    /// Reads about the program of a thread (gettid(2)). Nil if it is not visible. May wait for that program while its
    /// mappings change.
    /// - Parameters:
    ///   - folder: The inode number.
    ///   - mount: The folder's mount, or nil if unknown.
    public init?(of thread: pid_t, folder: UInt64, on mount: MountTable.Mount?) {
        guard thread > 0,
            var mappings = ProcessInformation.bytes(of: "/proc/\(thread)/maps", limit: Self.mappingsLimit)
        else { return nil }
        mappings.append(0)
        loadsGIO = Self.names(Self.gio, in: mappings)
        loadsQt = Self.qt.contains { Self.names($0, in: mappings) }
        let name = ProcessInformation.bytes(of: "/proc/\(thread)/comm", limit: 16) ?? []
        isWorker = name.starts(with: Self.worker)
        showsFolder = loadsQt && Self.shows(folder, on: mount, thread)
    }

    private static let gio = "/libgio-2.0.so"
    private static let qt = ["/libQt5Core.so", "/libQt6Core.so"]
    /// The kernel's truncated "KIO::WorkerThread".
    private static let worker = Array("KIO::WorkerThre".utf8)
    /// Several times the size for the largest file manager.
    private static let mappingsLimit = 2 << 20

    /// Paths contain no NUL, so both are C strings.
    /// - Parameter mappings: With a NUL at the end.
    private static func names(_ library: String, in mappings: [UInt8]) -> Bool {
        mappings.withUnsafeBufferPointer { text in
            text.withMemoryRebound(to: CChar.self) { text in
                text.baseAddress.map { strstr($0, library) != nil } ?? false
            }
        }
    }

    private static func shows(_ folder: UInt64, on mount: MountTable.Mount?, _ thread: pid_t) -> Bool {
        ProcessInformation.names(in: "/proc/\(thread)/fd").contains { descriptor in
            guard let target = target(of: descriptor, thread) else { return false }
            // Other descriptors cannot be a folder on the mount.
            let isWatch = target.elementsEqual("anon_inode:inotify".utf8)
            guard isWatch || target.first == UInt8(ascii: "/"),
                let text = ProcessInformation.bytes(of: "/proc/\(thread)/fdinfo/\(descriptor)", limit: 65_536)
            else { return false }
            return OpenDescriptor.concerns(folder, on: mount, text: text)
        }
    }

    private static func target(of descriptor: String, _ thread: pid_t) -> [UInt8]? {
        var buffer = [CChar](repeating: 0, count: 64)
        let count = readlink("/proc/\(thread)/fd/\(descriptor)", &buffer, buffer.count)
        return count > 0 ? buffer[..<count].map { UInt8(bitPattern: $0) } : nil
    }
}

/// Reads `/proc/PID/fdinfo` of one descriptor.
enum OpenDescriptor {
    /// Returns whether it is the folder, or watches it.
    /// - Parameters:
    ///   - folder: The inode number.
    ///   - text: Lines of proc(5).
    static func concerns(_ folder: UInt64, on mount: MountTable.Mount?, text: [UInt8]) -> Bool {
        var isFolder = false
        var (inode, number): (UInt64?, Int?) = (nil, nil)
        for line in text.split(separator: UInt8(ascii: "\n")) {
            let words = line.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
                .map { String(decoding: $0, as: UTF8.self) }
            guard let first = words.first else { continue }
            switch first {
            case "inotify":
                let value = { (key: String) in
                    words.first { $0.hasPrefix(key) }.flatMap { UInt64($0.dropFirst(key.count), radix: 16) }
                }
                if value("ino:") == folder,
                    mount?.kernelDevice == nil || value("sdev:") == mount?.kernelDevice
                {
                    return true
                }
            case "flags:":
                isFolder = words.last.flatMap { Int32($0, radix: 8) }.map { $0 & O_DIRECTORY != 0 } == true
            case "ino:": inode = words.last.flatMap { UInt64($0) }
            case "mnt_id:": number = words.last.flatMap { Int($0) }
            default: break
            }
        }
        return isFolder && inode == folder && (mount == nil || number == mount?.id)
    }
}

extension MountTable.Mount {
    /// Converts `device` to the kernel's internal form, which `/proc/PID/fdinfo` shows.
    fileprivate var kernelDevice: UInt64? {
        let parts = device.split(separator: ":").compactMap { UInt64($0) }
        return parts.count == 2 ? parts[0] << 20 | parts[1] : nil
    }
}
