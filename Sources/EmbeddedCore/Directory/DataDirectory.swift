import Base
import ChatCore
import CoreServices
import Cryptography
import Glibc
import Posix
import Store

/// Where the embedded core keeps everything: profiles, chats, messages and files. A folder of mode
/// 0700 with a marker and a version; several processes may use it at once.
///
///     keys                 of an encrypted one: its data key, sealed for each way to unlock (`KeySlots`)
///     in-use               locked, shared, by every process that has the directory open
///     chatfs.db            all tables (`Schema`)
///     made                 chatfs.db was made: where it is missing, it was lost
///     bell                 written to when there is something for another process (`ChangeSignal`)
///     profiles/<id>/lock   who holds the profile
///     profiles/<id>/files  CryptoFiles of sent and received files
///     profiles/<id>/agent.sqlite  connections to people on the network, when there are any (`Agent`)
///     profiles/<id>/staging, incoming   files on their way in
///
/// All methods block (disk, SQLite): from async code go through a thread pool.
///
/// Large, because there is much to configure: beside what opens it, each method is one transaction on the tables of a
/// profile (`DirectoryTables`), for commands that need no running core. The extensions have no state.
public final class DataDirectory: Sendable {
    /// Absolute.
    public let path: String
    /// With which all databases in it are encrypted; nil: they are not.
    public let key: SecretBytes?
    let folder: PrivateFolder
    private let use: OpenFile
    let store: DirectoryStore
    let signal: ChangeSignal
    let clock: any WallClock
    private let usualProfile = Lock<Int64?>(nil)

    static let purpose = "chatfs data"
    /// What is there wherever something is kept.
    public static let databaseFile = "chatfs.db"
    /// The file that an encrypted one has, beside its database.
    public static let keysFile = "keys"
    /// Locked, shared, while this object lives: who changes all databases at once locks it alone.
    public static let useFile = "in-use"
    /// There since the first database was made. What it holds where that was encrypted from its beginning.
    static let madeMark = "made"
    static let madeEncrypted = Array("encrypted\n".utf8)
    private static let versionFile = "version"
    private static let version = "1"

    /// `${XDG_DATA_HOME}/chatfs`, with `~/.local/share` where the variable is not set.
    public static func defaultPath() -> String {
        func variable(_ name: String) -> String? {
            guard let value = getenv(name) else { return nil }
            let text = String(cString: value)
            // Relative values are to be ignored (XDG Base Directory Specification).
            return text.isAbsolutePath ? text : nil
        }
        if let data = variable("XDG_DATA_HOME") { return data + "/chatfs" }
        let home = variable("HOME") ?? getpwuid(getuid()).map { String(cString: $0.pointee.pw_dir) } ?? "/"
        return home + "/.local/share/chatfs"
    }

    /// Opens the directory, making it when it is missing or empty.
    ///
    /// - Parameters:
    ///   - key: of an encrypted one; nil: it is not encrypted.
    ///   - mayMigrate: whether an earlier version's data may be changed in a way that cannot be undone.
    ///   - mayLackParts: whether it is opened without databases that it had beside its first one.
    /// - Throws: `.wrongVersion` for the data of a newer version, and where consent is missing; `.storage` for a folder that holds
    ///   something else or is open to others, for one that lacks a part (`DirectoryPart`), and for a key that is missing
    ///   or wrong, `.file(.noSpace)`.
    public convenience init(
        _ path: String? = nil, key: SecretBytes? = nil, mayMigrate: Bool = true, mayLackParts: Bool = false
    ) throws(ChatError) {
        try self.init(
            path ?? Self.defaultPath(), key: key, mayMigrate: mayMigrate, mayLackParts: mayLackParts,
            clock: SystemWallClock())
    }

    public static let noProfile = ChatError(
        .noSuchProfile, "There is no profile yet: make one with 'chatfs profile create NAME'.")

    /// Whether something is there that could be one, more than an empty folder; nil: at the default path.
    public static func exists(_ path: String?) -> Bool {
        let path = path ?? defaultPath()
        if let folder = try? OpenFile(path, flags: O_RDONLY | O_DIRECTORY),
            let names = try? PrivateFolder.names(in: folder)
        {
            return !names.isEmpty
        }
        // What cannot be looked into is for the one who opens it.
        var status = stat()
        return stat(path, &status) == 0
    }

    /// - Parameters:
    ///   - bootClock: by which limits are kept.
    ///   - network: the network filesystem that a path lies on.
    init(
        _ path: String, key: SecretBytes? = nil, mayMigrate: Bool = true, mayLackParts: Bool = false,
        clock: any WallClock, bootClock: any BootClock = SystemBootClock(),
        network: (String) -> String? = NetworkFilesystem.name
    ) throws(ChatError) {
        try Self.refuseNetwork(path, network)
        try Self.requireParts(path, hasKey: key != nil)
        do {
            folder = try Self.open(path)
            guard let absolute = realpath(path, nil) else {
                throw SystemError(code: errno, operation: "open the data directory")
            }
            defer { free(absolute) }
            self.path = String(cString: absolute)
            self.key = key
            use = try Self.beginUse(of: folder)
            try Self.checkKey(key, in: folder)
            _ = try folder.subfolder("profiles")
            // The name is on disks: under another one, programs of two versions would not hear each other.
            signal = try ChangeSignal(path: self.path + "/bell")
            store = try DirectoryStore(
                path: self.path + "/" + Self.databaseFile, key: key,
                consent: mayMigrate ? .given : .missing, clock: bootClock)
            self.clock = clock
            MigrationCopy.sweep(folder.directory, now: SystemWallClock().now())
        } catch {
            throw ChatError(wrapping: error)
        }
        markMade()
        if !mayLackParts { try requireNotedParts() }
        // On a full disk they are noted by the next one.
        try? noteParts()
    }

    /// From then on a directory without its first database has lost it. The tables are in the database itself before: a
    /// lost log does not take them along. Where a full disk refuses the mark, the next one that opens it makes it.
    private func markMade() {
        guard faccessat(folder.directory.descriptor, Self.madeMark, F_OK, AT_SYMLINK_NOFOLLOW) != 0 else {
            return
        }
        try? store.emptyJournal()
        try? folder.directory.synchronise()
        try? folder.write(key == nil ? [] : Self.madeEncrypted, to: Self.madeMark)
    }

    /// Makes the folder of a new one, for its file of keys, which comes before its first database.
    /// - Throws: as `init`.
    public static func makeFolder(_ path: String) throws(ChatError) {
        try refuseNetwork(path, NetworkFilesystem.name)
        do { _ = try open(path) } catch { throw ChatError(wrapping: error) }
    }

    /// Refuses the directory of another user, also for root, and says whose it is. Blocks for a moment.
    /// - Throws: `.storage`.
    public static func requireOwn(_ path: String) throws(ChatError) {
        var status = stat()
        // What is not there, or cannot be looked at, is for the one who opens it.
        guard stat(path, &status) == 0, status.st_uid != geteuid() else { return }
        let owner =
            getpwuid(status.st_uid).map { String(cString: $0.pointee.pw_name) } ?? "user \(status.st_uid)"
        throw ChatError(
            .storage,
            "The data directory belongs to \(owner): run this as \(owner), or name another with --data.")
    }

    /// To be asked before anything is made there.
    private static func refuseNetwork(
        _ path: String, _ network: (String) -> String?
    ) throws(ChatError) {
        guard let network = network(path) else { return }
        throw ChatError(
            .storage,
            "The data directory cannot be on a network filesystem (\(network)): its processes could not share "
                + "the database safely there. Name a folder on a disk of this machine with --data.")
    }

    /// Two processes may make the folder at the same time: the later one waits for the marker.
    private static func open(_ path: String) throws -> PrivateFolder {
        let start = ContinuousClock.now
        while true {
            do {
                let folder = try PrivateFolder(path, purpose: purpose)
                try checkVersion(of: folder)
                return folder
            } catch let error as SystemError {
                let isBeingMade = [ENOTEMPTY, ENOENT, EEXIST].contains(error.code)
                guard isBeingMade, ContinuousClock.now - start < .milliseconds(300) else {
                    throw ChatError(
                        error.isFullDisk ? .file(.noSpace) : .storage,
                        "The data directory cannot be used: \(error.sentence) Name another with --data.",
                        cause: error)
                }
                usleep(20_000)
            }
        }
    }

    private static func checkVersion(of folder: PrivateFolder) throws {
        if let file = try OpenFile.existing(versionFile, flags: O_RDONLY, in: folder.directory) {
            let found = String(decoding: try file.readAll(limit: 64), as: UTF8.self)
            guard found == version + "\n" else {
                throw ChatError(
                    .wrongVersion,
                    "The data directory was written by another version of ChatFS: use that version or "
                        + "name another directory with --data.")
            }
        } else {
            try folder.write(Array((version + "\n").utf8), to: versionFile)
        }
    }

    private static func beginUse(of folder: PrivateFolder) throws -> OpenFile {
        let file = try OpenFile(useFile, flags: O_RDWR | O_CREAT, in: folder.directory)
        if try file.tryLock(shared: true) { return file }
        throw ChatError(
            .storage, "The data directory is being encrypted by another process: try again when that is done."
        )
    }

    /// Nothing is made in clear where the rest is encrypted.
    private static func checkKey(_ key: SecretBytes?, in folder: PrivateFolder) throws(ChatError) {
        let isEncrypted = faccessat(folder.directory.descriptor, keysFile, F_OK, 0) == 0
        guard isEncrypted && key == nil else { return }
        throw ChatError(.storage, "The data directory is encrypted: it must be unlocked first.")
    }

    // MARK: - Profiles

    /// In the order in which they were made.
    /// - Throws: `.storage`.
    public func profiles() throws(ChatError) -> [Profile] {
        try wrapping { try store.read { try $0.profiles.all() } }
    }

    /// Says which profile is meant where several are there and none is named; nil: none.
    public func mean(profile id: Int64?) { usualProfile.withLock { $0 = id } }

    /// The profile of this name, or without a name the one that is meant (`mean`), or the only one there is.
    /// - Throws: `.noSuchProfile`, also for several without a name; `.storage`.
    public func profile(named name: String?) throws(ChatError) -> Profile {
        let profiles = try profiles()
        if let name {
            if let profile = profiles.first(where: { $0.displayName == name }) { return profile }
            let made = profiles.isEmpty ? "none yet" : profiles.map(\.displayName).joined(separator: ", ")
            throw ChatError(
                .noSuchProfile,
                "There is no profile \(name); there are: \(made). \(Self.nearest(to: name, in: profiles))"
                    + "Make it with 'chatfs profile create NAME'.")
        }
        guard let profile = profiles.first else {
            throw Self.noProfile
        }
        if let usual = usualProfile.withLock({ $0 }), let meant = profiles.first(where: { $0.id == usual }) {
            return meant
        }
        guard profiles.count == 1 else {
            let names = profiles.map(\.displayName).joined(separator: ", ")
            throw ChatError(
                .noSuchProfile, "There are several profiles: choose with --profile one of \(names).")
        }
        return profile
    }

    private static func nearest(to name: String, in profiles: [Profile]) -> String {
        NearestWord.nearest(to: name, among: profiles.map(\.displayName))
            .map { "Did you mean \($0)? " } ?? ""
    }

    /// The folder of a profile's own, as `EmbeddedCore.folder`, and the one for files that are to be
    /// sent: for who talks to the process that holds the profile. Made when they are missing.
    /// - Throws: `.storage`, `.file(.noSpace)`.
    public func folders(of profile: Profile) throws(ChatError) -> (own: String, staging: String) {
        try wrapping {
            let folders = try profileFolders(of: profile)
            return (folders.path, folders.stagingPath)
        }
    }

    func profileFolders(of profile: Profile) throws(SystemError) -> ProfileFolders {
        try ProfileFolders(of: profile, in: folder, path: path)
    }

    /// Makes a profile with its note folder. Names are unique in a data directory; for their form see
    /// `docs/semantics.md`.
    /// - Throws: `.invalidCommand` for the form, `.nameTaken`.
    public func createProfile(_ name: String) throws(ChatError) -> Profile {
        let name = try DisplayName.checked(name, of: "profile")
        return try wrapping {
            let profile = try store.change { tables in
                if try tables.profiles.profile(named: name) != nil {
                    throw ChatError(.nameTaken, "There is already a profile \(name).")
                }
                let profile = try tables.profiles.insert(name, at: clock.now())
                // Of a profile that the database does not know: no other one takes it over.
                guard try PrivateFolder.names(at: "\(path)/profiles/\(profile.id)").isEmpty else {
                    throw ChatError(
                        .storage,
                        "profiles/\(profile.id) in the data directory holds the data of a profile that "
                            + "\(Self.databaseFile) does not know: put the database back from a backup with its "
                            + "\(Self.databaseFile)-wal, or move that folder away.")
                }
                return profile
            }
            // A lost log does not take the profile along. Where others read just now, the next one empties it.
            try? store.emptyJournal()
            return profile
        }
    }

    /// The chats of a profile, also while another process has it.
    /// - Throws: `.storage`.
    public func chats(of profile: Profile) throws(ChatError) -> [Chat] {
        try wrapping { try store.read { try $0.chats.all(of: profile.id) } }
    }

    // MARK: - Chats between profiles

    /// Makes two profiles each other's contact.
    /// - Throws: `.noSuchProfile`, `.nameTaken` when they are, `.invalidCommand` for one with itself.
    public func connect(_ first: String, _ second: String) throws(ChatError) {
        try changeForOthers { tables in
            let (one, other) = (try profile(first, tables), try profile(second, tables))
            guard one.id != other.id else {
                throw ChatError(
                    .invalidCommand, "A profile cannot be its own contact; it has Saved notes.")
            }
            let sides = [(one.id, other.id), (other.id, one.id)]
            guard try !sides.allSatisfy({ try tables.chats.isConnected($0.0, to: $0.1) }) else {
                throw ChatError(.nameTaken, "\(first) and \(second) are already each other's contact.")
            }
            // A side that was left goes on where it was.
            for (own, contact) in sides {
                let side = try tables.chats.connect(own, to: contact, at: clock.now())
                if let side { try tables.announce([side]) }
            }
        }
    }

    /// Makes a group of at least two profiles. The first is its owner.
    /// - Throws: `.noSuchProfile`, `.invalidCommand` for the name or the members.
    public func createGroup(_ name: String, members: [String]) throws(ChatError) {
        let name = try DisplayName.checked(name, of: "group")
        guard members.count >= 2, Set(members).count == members.count else {
            throw ChatError(.invalidCommand, "A group needs at least two members, each named once.")
        }
        try changeForOthers { tables in
            let now = clock.now()
            let group = try tables.chats.insertGroup(name, at: now)
            for (position, member) in members.enumerated() {
                let side = try tables.chats.addMember(
                    try profile(member, tables).id, as: position == 0 ? .owner : .member, to: group, at: now)
                try tables.announce([side])
            }
        }
    }

    private func profile(_ name: String, _ tables: DirectoryTables) throws -> Profile {
        guard let profile = try tables.profiles.profile(named: name) else {
            throw ChatError(
                .noSuchProfile,
                "There is no profile \(name): make it with 'chatfs profile create NAME'.")
        }
        return profile
    }

    // MARK: - Changing

    /// A change that processes of other profiles are to see at once.
    func changeForOthers(_ body: (DirectoryTables) throws -> Void) throws(ChatError) {
        try wrapping { try store.change(body) }
        signal.notify()
    }

    @discardableResult
    func wrapping<Result>(_ body: () throws -> Result) throws(ChatError) -> Result {
        do {
            return try body()
        } catch {
            throw ChatError(wrapping: error)
        }
    }
}
