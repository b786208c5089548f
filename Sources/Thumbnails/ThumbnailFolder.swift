import Base
import CLinux
import Glibc
import Posix

/// The desktop's thumbnail cache of this user, as far as the files of one mount are concerned (Thumbnail Managing
/// Standard, freedesktop.org).
///
/// What is offered there is only symbolic links into the mount, so nothing decrypted lies on a disk. Nothing is
/// touched but links that lead into a mount of ours, and thumbnails of its files; everything is reached by descriptor,
/// and no link is followed below the folder. All calls block.
public struct ThumbnailFolder: Sendable {
    private let directory: OpenFile
    /// Absolute, without symbolic links.
    public let mountpoint: String
    private let mountLink: MountLink

    /// A file of the mount.
    public struct Entry: Sendable {
        /// Below the mountpoint, without a slash in front.
        public var path: [UInt8]
        /// Tells it from the others of the mount.
        public var number: UInt64

        public init(path: [UInt8], number: UInt64) {
            self.path = path
            self.number = number
        }
    }

    /// Opens the folder, making it when it is missing. To be called before anything is mounted, so that its path does
    /// not lead through the mount itself.
    /// - Parameter path: may be a link of the user's.
    /// - Throws: EPERM for one of somebody else; where it cannot be opened or made.
    public init(path: String, mountpoint: String) throws(SystemError) {
        if mkdir(path, 0o700) != 0, errno == ENOENT {
            mkdir(path.parentPath, 0o700)
            mkdir(path, 0o700)
        }
        directory = try OpenFile(path, flags: O_RDONLY | chatfs_o_directory)
        guard try directory.status().st_uid == geteuid() else {
            throw SystemError(code: EPERM, operation: "use a thumbnail cache of somebody else")
        }
        self.mountpoint = mountpoint
        mountLink = MountLink(mountpoint: mountpoint)
    }

    // MARK: - Offering

    /// Links the thumbnails of files, in every size and spelling.
    /// - Throws: why the first one could not be linked; those after it are not.
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

    /// - Parameter isOlder: whether a link to this may give way.
    private func link(
        _ name: String, to target: String, in folder: OpenFile, instead isOlder: (String) -> Bool
    ) throws(SystemError) {
        // Twice: what has the name is an older link of ours, or what a thumbnailer made of this very file.
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

    /// Takes away what there is of files that are gone, or have another name now: links, thumbnails that others made,
    /// and their marks that they could not.
    /// - Throws: why the first one could not be removed; those after it stay.
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

    /// Takes away the marks that programs failed with these files, so that they try again.
    /// - Throws: as `withdraw`.
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

    /// A mountpoint of which something may be here.
    public struct Traces: Sendable {
        public var mountpoint: String
        /// Thumbnails that were written since (seconds since 1970) are asked whose they are; nil: none.
        public var since: Int64?
        /// Whether those that are called after known paths are looked for.
        public var isLookedForByName: Bool

        public init(mountpoint: String, since: Int64?, isLookedForByName: Bool) {
            self.mountpoint = mountpoint
            self.since = since
            self.isLookedForByName = isLookedForByName
        }
    }

    /// Takes away all that is of some mounts: links into them, and the thumbnails of their files that others made.
    ///
    /// A user may have a hundred thousand thumbnails, so only names are read: of links where they lead, and of files
    /// whether they are called after a known path. What was written while something was mounted is looked into as
    /// well, since its file may be gone and its name forgotten.
    ///
    /// - Parameter paths: calls what it is given with every known path below the mountpoints.
    /// - Throws: as `withdraw`, and where a folder cannot be read.
    public func sweep(
        _ traces: [Traces], paths: ((_ path: [UInt8]) -> Void) -> Void
    ) throws(SystemError) {
        let mountLinks = traces.map { MountLink(mountpoint: $0.mountpoint) }
        // With it all that lead through it lead nowhere.
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

    /// Removes what shows by itself whose it is. Answers the names of the files that are left.
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

    /// Where mounts are, or were, whose previews are offered here.
    /// - Throws: where the folder cannot be read.
    public func mountpoints() throws(SystemError) -> [String] {
        try FolderEntry.all(in: directory).compactMap { entry in
            guard entry.mayBeLink, let target = linkTarget(entry.name, in: directory) else { return nil }
            return MountLink(name: entry.name, target: target)?.mountpoint
        }
    }

    /// Whether a file was written while something was mounted, of a file in it.
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

    /// Those that there are: of each size, and with the marks of each program that something failed.
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

    /// None where it is missing, or a link.
    private static func folder(_ name: String, in directory: OpenFile) -> [OpenFile] {
        let folder = try? OpenFile(
            name, flags: O_RDONLY | chatfs_o_directory | chatfs_o_nofollow, in: directory)
        return folder.map { [$0] } ?? []
    }

    /// Where a link leads; nil for what is none.
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
