import Base
import CLinux
import Glibc
import Posix

/// The user's thumbnail cache, for the files of one mount (Thumbnail Managing Standard, freedesktop.org).
///
/// Offers thumbnails only as symbolic links into the mount, so nothing decrypted is stored on disk. Changes only links
/// into our mounts and thumbnails of their files. Accesses everything by descriptor and follows no links below the
/// folder. All calls block.
public struct ThumbnailFolder: Sendable {
    private let directory: OpenFile
    /// Absolute, without symbolic links.
    public let mountpoint: String
    private let mountLink: MountLink

    /// A file of the mount.
    public struct Entry: Sendable {
        /// The path relative to the mountpoint.
        public var path: [UInt8]
        /// Identifies the file within the mount.
        public var number: UInt64

        public init(path: [UInt8], number: UInt64) {
            self.path = path
            self.number = number
        }
    }

    /// Opens the folder, or creates it. Call this before mounting, so that the path does not lead through the mount.
    /// - Parameter path: The path of the folder. It may be a symbolic link of the user.
    /// - Throws: EPERM for another user's folder; other errors of opening or creating it.
    public init(path: String, mountpoint: String) throws(SystemError) {
        if mkdir(path, 0o700) != 0, errno == ENOENT {
            mkdir(path.parentPath, 0o700)
            mkdir(path, 0o700)
        }
        directory = try OpenFile(path, flags: O_RDONLY | chatfs_o_directory)
        guard try directory.status().st_uid == geteuid() else {
            throw SystemError(code: EPERM, operation: "use another user's thumbnail cache")
        }
        self.mountpoint = mountpoint
        mountLink = MountLink(mountpoint: mountpoint)
    }

    // MARK: - Offering

    /// Links the thumbnails of files, in every size and spelling.
    /// - Throws: The first error. Later files are not linked.
    public func offer(_ entries: [Entry]) throws(SystemError) {
        guard !entries.isEmpty else { return }
        try link(mountLink.name, to: mountLink.target, in: directory, instead: { _ in true })
        let names = entries.flatMap { entry in
            FileURI.spellings(of: absolute(entry.path)).map { spelling, uri in
                (entry.number, spelling, name: ThumbnailName(uri: uri).fileName)
            }
        }
        for size in ThumbnailSize.allCases {
            let folder = try PrivateFolder.folder(size.folderName, in: directory)
            for (number, spelling, name) in names {
                let place = ThumbnailPlace(entry: number, size: size, spelling: spelling)
                try link(name, to: mountLink.target(of: place), in: folder, instead: mountLink.isUsed)
            }
        }
    }

    /// - Parameter isOlder: Returns whether a link with this target may be replaced.
    private func link(
        _ name: String, to target: String, in folder: OpenFile, instead isOlder: (String) -> Bool
    ) throws(SystemError) {
        // Twice: the name may belong to an older link of ours, or to a thumbnailer's file for this very file.
        for _ in 0..<2 {
            if symlinkat(target, folder.descriptor, name) == 0 { return }
            guard errno == EEXIST else {
                throw SystemError(code: errno, operation: "offer a preview to the desktop")
            }
            if let found = linkTarget(name, in: folder) {
                guard found != target, isOlder(found) else { return }
            }
            try remove(name, in: folder)
        }
    }

    /// Deletes links, other programs' thumbnails and failure marks of files that were deleted or renamed.
    /// - Throws: The first error. Later files stay.
    public func withdraw(_ paths: [[UInt8]]) throws(SystemError) {
        let names = paths.flatMap { FileURI.spellings(of: absolute($0)).map { ThumbnailName(uri: $0.text) } }
        for folder in try folders() {
            for name in names {
                if let target = linkTarget(name.fileName, in: folder), !mountLink.isUsed(by: target) {
                    continue
                }
                try remove(name.fileName, in: folder)
            }
        }
    }

    /// Deletes programs' failure marks for these files, so that they try again.
    /// - Throws: The errors of `withdraw`.
    public func removeFailures(_ paths: [[UInt8]]) throws(SystemError) {
        let folders = try failureFolders()
        guard !folders.isEmpty else { return }
        let names = paths.flatMap { FileURI.spellings(of: absolute($0)).map { ThumbnailName(uri: $0.text) } }
        for folder in folders {
            for name in names { try remove(name.fileName, in: folder) }
        }
    }

    private func absolute(_ path: [UInt8]) -> [UInt8] {
        Array(mountpoint.utf8) + [UInt8(ascii: "/")] + path
    }

    // MARK: - Sweeping

    /// A mountpoint with possible traces in the cache.
    public struct Traces: Sendable {
        public var mountpoint: String
        /// Thumbnails written since then (seconds since 1970) are checked by content; nil means none.
        public var since: Int64?
        /// Whether to search for thumbnails of known paths.
        public var isLookedForByName: Bool

        public init(mountpoint: String, since: Int64?, isLookedForByName: Bool) {
            self.mountpoint = mountpoint
            self.since = since
            self.isLookedForByName = isLookedForByName
        }
    }

    /// Deletes all traces of some mounts: links into them, and other programs' thumbnails of their files.
    ///
    /// A user may have 100,000 thumbnails, so this reads only link targets and file names and compares them with known
    /// paths. Files written while a mount existed are also opened, because the path may be forgotten.
    ///
    /// - Parameter paths: Calls its argument with every known path below the mountpoints.
    /// - Throws: The errors of `withdraw`, and errors of reading a folder.
    public func sweep(
        _ traces: [Traces], paths: ((_ path: [UInt8]) -> Void) -> Void
    ) throws(SystemError) {
        let mountLinks = traces.map { MountLink(mountpoint: $0.mountpoint) }
        // All links through it become dangling.
        for link in mountLinks where linkTarget(link.name, in: directory) != nil {
            try remove(link.name, in: directory)
        }
        var present: Set<ThumbnailName> = []
        let folders = try folders()
        for folder in folders {
            present.formUnion(try sweep(folder, of: traces, through: mountLinks))
        }
        let starts = traces.filter(\.isLookedForByName).map {
            Array($0.mountpoint.utf8) + [UInt8(ascii: "/")]
        }
        guard !present.isEmpty, !starts.isEmpty else { return }
        var known: [ThumbnailName] = []
        paths { path in
            for start in starts {
                for (_, uri) in FileURI.spellings(of: start + path) {
                    let name = ThumbnailName(uri: uri)
                    if present.contains(name) { known.append(name) }
                }
            }
        }
        for folder in folders {
            for name in known where linkTarget(name.fileName, in: folder) == nil {
                try remove(name.fileName, in: folder)
            }
        }
    }

    /// Deletes entries that identify themselves. Returns the names of the remaining files.
    private func sweep(
        _ folder: OpenFile, of traces: [Traces], through mountLinks: [MountLink]
    ) throws(SystemError) -> Set<ThumbnailName> {
        var present: Set<ThumbnailName> = []
        for entry in try FolderEntry.all(in: folder) {
            if entry.mayBeLink, let target = linkTarget(entry.name, in: folder) {
                if mountLinks.contains(where: { $0.isUsed(by: target) }) {
                    try remove(entry.name, in: folder)
                }
            } else if try isWritten(entry.name, in: folder, by: traces) {
                try remove(entry.name, in: folder)
            } else if let name = ThumbnailName(fileName: entry.name) {
                present.insert(name)
            }
        }
        return present
    }

    /// Returns the mountpoints, current or former, with links in the cache.
    /// - Throws: An error if the folder cannot be read.
    public func mountpoints() throws(SystemError) -> [String] {
        try FolderEntry.all(in: directory).compactMap { entry in
            guard entry.mayBeLink, let target = linkTarget(entry.name, in: directory) else { return nil }
            return MountLink(name: entry.name, target: target)?.mountpoint
        }
    }

    /// Returns whether a file is a thumbnail of a mount's file, written while it was mounted.
    private func isWritten(
        _ name: String, in folder: OpenFile, by traces: [Traces]
    ) throws(SystemError) -> Bool {
        guard let since = traces.compactMap(\.since).min() else { return false }
        var status = stat()
        guard fstatat(folder.descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0,
            status.st_mode & S_IFMT == S_IFREG, Int64(status.st_ctim.tv_sec) >= since,
            let file = try? OpenFile(name, flags: O_RDONLY | O_NONBLOCK | chatfs_o_nofollow, in: folder),
            let head = try? file.read(count: ThumbnailHead.length, at: 0),
            let uri = ThumbnailHead.uri(head)
        else { return false }
        return traces.contains { trace in
            FileURI.allCases.contains { spelling in
                uri.starts(with: (spelling.text(of: Array(trace.mountpoint.utf8)) + "/").utf8)
            }
        }
    }

    // MARK: - Folders

    /// Returns the existing folders: of each size, and of each program's failure marks.
    private func folders() throws(SystemError) -> [OpenFile] {
        var folders: [OpenFile] = []
        for size in ThumbnailSize.allCases { folders += Self.folder(size.folderName, in: directory) }
        return folders + (try failureFolders())
    }

    private func failureFolders() throws(SystemError) -> [OpenFile] {
        var folders: [OpenFile] = []
        for failed in Self.folder("fail", in: directory) {
            for name in try PrivateFolder.names(in: failed) { folders += Self.folder(name, in: failed) }
        }
        return folders
    }

    /// Returns an empty array for missing folders and links.
    private static func folder(_ name: String, in directory: OpenFile) -> [OpenFile] {
        let folder = try? OpenFile(
            name, flags: O_RDONLY | chatfs_o_directory | chatfs_o_nofollow, in: directory)
        return folder.map { [$0] } ?? []
    }

    /// Returns the target of a link, or nil for other entries.
    private func linkTarget(_ name: String, in folder: OpenFile) -> String? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX)) { buffer in
            guard let start = buffer.baseAddress else { return nil }
            let count = readlinkat(folder.descriptor, name, start, buffer.count)
            guard count >= 0 else { return nil }
            return String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
    }

    private func remove(_ name: String, in folder: OpenFile) throws(SystemError) {
        guard unlinkat(folder.descriptor, name, 0) != 0, errno != ENOENT, errno != EISDIR else { return }
        throw SystemError(code: errno, operation: "take a preview from the desktop")
    }
}
