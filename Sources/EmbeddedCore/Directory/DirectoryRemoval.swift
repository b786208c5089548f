import ChatCore
import CoreServices
import Glibc
import Posix

/// Removes a data directory with all profiles, without unlocking it. All calls block.
///
/// Removes the key file first, so that an interrupted removal leaves only unreadable data. A second call
/// resumes.
public struct DirectoryRemoval: Sendable {
    /// Absolute.
    public let path: String
    private let folder: PrivateFolder
    private let use: OpenFile

    /// Locks the directory for removal.
    /// - Throws: `.storage` for a missing or foreign directory, one in use, or one with the key of a relay.
    ///   The message names the using process and its mountpoint if known.
    public init(_ path: String) throws(ChatError) {
        guard DataDirectory.exists(path) else {
            throw ChatError(.storage, "There is no data directory \(path).")
        }
        try DataDirectory.requireOwn(path)
        let isFree: Bool
        do throws(SystemError) {
            folder = try PrivateFolder(path, purpose: DataDirectory.purpose)
            use = try OpenFile(
                DataDirectory.useFile, flags: O_RDWR | O_CREAT | O_NOFOLLOW, in: folder.directory)
            isFree = try use.tryLock()
        } catch {
            throw ChatError(.storage, "The data directory cannot be removed: \(error.sentence)", cause: error)
        }
        guard isFree else {
            let holder = Self.holder(in: path).map { " (\($0))" } ?? ""
            throw ChatError(
                .storage,
                "The data directory is in use\(holder): unmount its profiles, and let other commands end.")
        }
        let relay = "\(path)/\(DataDirectory.relayFolder)"
        guard !Self.holdsKey(ofRelay: relay, path) else {
            throw ChatError(
                .storage,
                "The relay in \(relay) would lose its key: delete that folder first if it is no longer "
                    + "needed.")
        }
        self.path = path
    }

    /// Whether the key of the relay's certificates and queues is the directory's.
    private static func holdsKey(ofRelay relay: String, _ path: String) -> Bool {
        func isThere(_ file: String) -> Bool { access(file, F_OK) == 0 }
        let keys = DataDirectory.keysFile
        return isThere("\(path)/\(keys)") && isThere(relay + "/server.crt") && !isThere("\(relay)/\(keys)")
    }

    /// Removes the directory.
    /// - Parameter forgetting: called before the key file is removed, while it still names the keys kept
    ///   elsewhere.
    /// - Returns: names of foreign files, which stay with the folder; empty if all is gone.
    /// - Throws: `.storage` for disk errors. A second call resumes.
    public func remove(forgetting: () -> Void) throws(ChatError) -> [String] {
        do throws(SystemError) {
            forgetting()
            try wipeKeys()
            let names = try folder.names()
            let own = names.filter(Self.isOwn)
            let foreign = names.filter { !Self.isOwn($0) }
            let kept = Set(foreign).union(
                foreign.isEmpty ? [] : [PrivateFolder.marker, DataDirectory.useFile])
            if !own.isEmpty {
                try PrivateFolder.removeContents(
                    of: folder.directory, keeping: kept, last: DataDirectory.useFile)
            }
            if foreign.isEmpty {
                try check("remove a folder") { rmdir(path) }
                return []
            }
            return foreign
        } catch {
            throw ChatError(
                .storage, "Not all of the data directory could be removed: \(error.sentence)", cause: error)
        }
    }

    /// Overwrites the key file as far as the disk allows.
    private func wipeKeys() throws(SystemError) {
        let flags = O_RDWR | O_NOFOLLOW
        guard let keys = try OpenFile.existing(DataDirectory.keysFile, flags: flags, in: folder.directory)
        else { return }
        try keys.write([UInt8](repeating: 0, count: Int(try keys.size())), at: 0)
        try keys.synchronise()
        unlinkat(folder.directory.descriptor, DataDirectory.keysFile, 0)
        try folder.directory.synchronise()
    }

    /// Whether ChatFS creates this name in a data directory.
    private static func isOwn(_ name: String) -> Bool {
        if DirectoryPart.all.contains(where: { $0.place.pathNames.first == name })
            || [ExportFolder.name, "encrypting", "encryption-offered", "unlocked"].contains(name)
        {
            return true
        }
        // Files beside databases and keys, copies before migrations, official cores, and interrupted writes.
        return ["chatfs.db", "chatfs-before-", "keys.", "official-", "."].contains(where: name.hasPrefix)
            && (!name.hasPrefix(".") || name.hasSuffix(".new"))
    }

    /// Returns one process that holds a profile.
    private static func holder(in path: String) -> String? {
        for profile in (try? PrivateFolder.names(at: path + "/profiles")) ?? [] {
            let lock = "\(path)/profiles/\(profile)/lock"
            guard let file = try? OpenFile(lock, flags: O_RDWR | O_NOFOLLOW),
                (try? file.tryLock()) == false, let bytes = try? file.readAll(limit: 8192),
                let holder = ProcessLock.Holder(String(decoding: bytes, as: UTF8.self))
            else { continue }
            return "\(holder)"
        }
        return nil
    }
}
