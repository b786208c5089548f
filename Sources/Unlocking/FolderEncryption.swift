import Base
import CLinux
import Cryptography
import Glibc
import KeySlots
import Posix
import Store

/// Encrypts a folder with plain databases. After a kill at any moment the folder opens: plain until the file of keys
/// has its name, encrypted from then on. `finish` does the rest without a key.
///
///     encrypting             the databases, one per line, during the encryption
///     DATABASE.sealing       the encrypted copy, until the file of keys has its name
///     keys.sealing           the file of keys before that
///     DATABASE.clear         the plain database, until it is overwritten
///
/// Needs space for a second copy of the databases. Blocks.
public struct FolderEncryption: Sendable {
    /// The completed steps, for tests.
    enum Step: Hashable, Sendable {
        case listed, keys, committed, finished
        case copied(Int)
        case moved(Int)
        case placed(Int)
        case wiped(Int)
    }

    private static let marker = "encrypting"
    private static let keys = KeyedFolder.keysFile + ".sealing"
    private static let depth = 4

    let folder: KeyedFolder
    private let lockFile: String
    private let step: @Sendable (Step) -> Void

    /// - Parameter lockFile: A file in the folder that its users lock.
    public init(_ folder: KeyedFolder, lockFile: String) {
        self.init(folder, lockFile: lockFile, step: { _ in })
    }

    init(_ folder: KeyedFolder, lockFile: String, step: @escaping @Sendable (Step) -> Void) {
        self.folder = folder
        self.lockFile = lockFile
        self.step = step
    }

    /// Whether an encryption was started and not finished.
    public var isUnderWay: Bool { access(folder.path + "/" + Self.marker, F_OK) == 0 }

    /// - Parameter secret: The first way to unlock.
    /// - Throws: `.busy` if the folder is in use, `.diskFull`, `.database`, `.file`, `.wrongSecret`. Nothing has
    ///   changed then.
    public func encrypt(for secret: UnlockingSecret) throws(UnlockingError) {
        let lock = try takeLock()
        defer { withExtendedLifetime(lock) {} }
        try settle()
        guard try folder.condition == .plain else { return }
        do {
            let directory = try OpenFile(folder.path, flags: O_RDONLY | chatfs_o_directory)
            let names = try databases()
            try PrivateFolder.write(
                Array(names.joined(separator: "\n").utf8), to: Self.marker, in: directory)
            step(.listed)
            let dataKey = DataKey.random()
            for (index, name) in names.enumerated() {
                try copy(name, dataKey)
                step(.copied(index))
            }
            let slots = try KeySlots(dataKey, for: secret, at: SystemWallClock().now())
            try KeySlotsFile(path: folder.path + "/" + Self.keys).create(slots)
            step(.keys)
            try check("give the file of keys its name") {
                rename(folder.path + "/" + Self.keys, folder.path + "/" + KeyedFolder.keysFile)
            }
            try directory.synchronise()
            step(.committed)
        } catch {
            // The remains of a list that did not fit on the disk.
            unlink("\(folder.path)/.\(Self.marker).new")
            try? settle()
            throw Self.wrapping(error)
        }
        try settle()
    }

    /// Finishes the work of a killed process: completes it if it was committed, otherwise reverts it.
    /// - Throws: `.busy`, `.file`.
    public func finish() throws(UnlockingError) {
        guard isUnderWay else { return }
        let lock = try takeLock()
        defer { withExtendedLifetime(lock) {} }
        try settle()
    }

    // MARK: - Steps

    private func settle() throws(UnlockingError) {
        guard isUnderWay else { return }
        do {
            let directory = try OpenFile(folder.path, flags: O_RDONLY | chatfs_o_directory)
            let list = try OpenFile(Self.marker, flags: O_RDONLY | chatfs_o_nofollow, in: directory)
            let names = try list.readAll(limit: 16 << 20).split(separator: UInt8(ascii: "\n"))
                .map { String(decoding: $0, as: UTF8.self) }
                // Stays inside the folder, even with a damaged list.
                .filter { !$0.isAbsolutePath && !$0.pathNames.contains("..") }
            if try folder.condition == .encrypted {
                // Keep the plain files while a power cut could still remove the name of the file of keys.
                try directory.synchronise()
                for (index, name) in names.enumerated() { try place(name, index) }
            } else {
                for name in names { removeFiles(of: path(name) + ".sealing") }
                unlink(folder.path + "/" + Self.keys)
            }
            unlink(folder.path + "/" + Self.marker)
            try directory.synchronise()
            step(.finished)
        } catch {
            throw Self.wrapping(error)
        }
    }

    private func path(_ name: String) -> String { folder.path + "/" + name }

    private func copy(_ name: String, _ dataKey: SecretBytes) throws {
        removeFiles(of: path(name) + ".sealing")
        try DatabaseCopy.make(from: path(name), key: nil, to: path(name) + ".sealing", key: dataKey)
        try synchroniseFolder(of: name)
    }

    /// File names show the state of each step.
    private func place(_ name: String, _ index: Int) throws {
        let (sealed, clear) = (path(name) + ".sealing", path(name) + ".clear")
        if access(sealed, F_OK) == 0 {
            if access(path(name), F_OK) == 0, access(clear, F_OK) != 0 {
                try check("put a database aside") { rename(path(name), clear) }
                step(.moved(index))
            }
            // The journal belongs to the plain database and must not be used for the new one.
            for suffix in ["-wal", "-shm", "-journal"] { try Self.wipe(path(name) + suffix) }
            try check("put an encrypted database in place") { rename(sealed, path(name)) }
            for suffix in ["-wal", "-shm"] { unlink(sealed + suffix) }
            try synchroniseFolder(of: name)
            step(.placed(index))
        }
        try Self.wipe(clear)
        step(.wiped(index))
    }

    /// Overwrites a file as far as its disk permits, and removes it. Does nothing if it is missing.
    /// - Throws: If it cannot be opened or overwritten; it is still there then. ELOOP for a link.
    public static func wipe(_ path: String) throws(SystemError) {
        guard let file = try OpenFile.existing(path, flags: O_WRONLY | O_NOFOLLOW) else { return }
        let zeros = [UInt8](repeating: 0, count: 1 << 20)
        let size = try file.size()
        do throws(SystemError) {
            var position: UInt64 = 0
            while position < size {
                let count = Int(min(UInt64(zeros.count), size - position))
                try file.write(Array(zeros[..<count]), at: position)
                position += UInt64(count)
            }
            try file.synchronise()
        } catch {
            // Only a disk that writes elsewhere needs space here. It keeps the old blocks in any case.
            guard error.isFullDisk else { throw error }
        }
        try check("remove a file") { unlink(path) }
    }

    private func removeFiles(of database: String) {
        for suffix in ["", "-wal", "-shm"] { unlink(database + suffix) }
    }

    private func synchroniseFolder(of name: String) throws(SystemError) {
        try OpenFile(path(name).parentPath, flags: O_RDONLY | chatfs_o_directory).synchronise()
    }

    private func takeLock() throws(UnlockingError) -> OpenFile {
        do throws(SystemError) {
            let file = try OpenFile(folder.path + "/" + lockFile, flags: O_RDWR | O_CREAT, mode: 0o600)
            if try file.tryLock() { return file }
        } catch {
            throw UnlockingError(error)
        }
        throw UnlockingError(
            .busy, "The data is in use: end all mounts, relays and commands that use it, and try again.")
    }

    // MARK: - The databases

    /// All databases, relative to the folder.
    private func databases() throws -> [String] {
        var found: [String] = []
        func look(into directory: OpenFile, _ prefix: String, _ depth: Int) throws {
            for name in try PrivateFolder.names(in: directory) {
                var status = stat()
                guard fstatat(directory.descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else { continue }
                if status.st_mode & S_IFMT == S_IFDIR, depth > 0 {
                    let flags = O_RDONLY | chatfs_o_directory | chatfs_o_nofollow
                    try look(
                        into: OpenFile(name, flags: flags, in: directory), prefix + name + "/", depth - 1)
                } else if status.st_mode & S_IFMT == S_IFREG,
                    name.endsWithBytes(of: ".db") || name.endsWithBytes(of: ".sqlite"),
                    try Self.isClear(name, in: directory)
                {
                    found.append(prefix + name)
                }
            }
        }
        try look(
            into: OpenFile(folder.path, flags: O_RDONLY | chatfs_o_directory), "", Self.depth)
        return found
    }

    /// A database that was never written is an empty file.
    private static func isClear(_ name: String, in directory: OpenFile) throws(SystemError) -> Bool {
        let magic = Array("SQLite format 3".utf8) + [0]
        let file = try OpenFile(name, flags: O_RDONLY | chatfs_o_nofollow, in: directory)
        let beginning = try file.read(count: magic.count, at: 0)
        return beginning.isEmpty || beginning == magic
    }

    private static func wrapping(_ error: any Error) -> UnlockingError {
        switch error {
        case let error as UnlockingError: error
        case let error as StoreError: UnlockingError(error)
        case let error as SystemError: UnlockingError(error)
        case let error as KeySlotsError: UnlockingError(error)
        default: UnlockingError(.file, sentence(of: error), cause: error)
        }
    }
}
