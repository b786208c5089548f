import Base
import ChatCore
import CoreServices
import Cryptography
import Glibc
import Posix
import Store

/// The data directory of the embedded core: profiles, chats, messages and files. A folder of mode 0700 with a
/// marker and a version. Several processes may use it at once.
///
///     keys                 data key of an encrypted directory, sealed per unlock method (`KeySlots`)
///     in-use               locked (shared) by every process that has the directory open
///     chatfs.db            all tables (`Schema`)
///     made                 exists once chatfs.db was created, so that its loss is noticed
///     bell                 written to signal other processes (`ChangeSignal`)
///     profiles/<id>/lock   names and locks the profile's holder
///     profiles/<id>/files  CryptoFiles of sent and received files
///     profiles/<id>/agent.sqlite  network connections, if any (`Agent`)
///     profiles/<id>/staging, incoming   incomplete files
///
/// All methods block (disk, SQLite); call them through a thread pool from async code.
///
/// The type is large because there is much to configure. Apart from opening, each method is one transaction
/// on a profile's tables (`DirectoryTables`), for commands without a running core. The extensions have no
/// state.
public final class DataDirectory: Sendable {
    /// Absolute.
    public let path: String
    /// Key of all databases; nil if they are not encrypted.
    public let key: SecretBytes?
    let folder: PrivateFolder
    private let use: OpenFile
    let store: DirectoryStore
    let signal: ChangeSignal
    let clock: any WallClock
    private let usualProfile = Lock<Int64?>(nil)

    static let purpose = "chatfs data"
    /// The first database.
    public static let databaseFile = "chatfs.db"
    /// Key file of an encrypted directory.
    public static let keysFile = "keys"
    /// Locked (shared) while this object lives. An exclusive lock allows re-encrypting all databases.
    public static let useFile = "in-use"
    /// The folder of a relay in the default directory, whose key seals its files.
    static let relayFolder = "relay"
    /// Exists once the first database was created. Its contents say whether that was encrypted.
    static let madeMark = "made"
    static let madeEncrypted = Array("encrypted\n".utf8)
    private static let versionFile = "version"
    private static let version = "1"

    /// `${XDG_DATA_HOME}/chatfs`, or `~/.local/share/chatfs` if the variable is unset.
    public static func defaultPath() -> String {
        func variable(_ name: String) -> String? {
            guard let value = getenv(name) else { return nil }
            let text = String(cString: value)
            // The XDG Base Directory Specification ignores relative values.
            return text.isAbsolutePath ? text : nil
        }
        if let data = variable("XDG_DATA_HOME") { return data + "/chatfs" }
        let home = variable("HOME") ?? getpwuid(getuid()).map { String(cString: $0.pointee.pw_dir) } ?? "/"
        return home + "/.local/share/chatfs"
    }

    /// The folder of a relay without a named one.
    public static var defaultRelayPath: String { defaultPath() + "/" + relayFolder }

    /// Opens the directory, or creates it if missing or empty.
    ///
    /// - Parameters:
    ///   - key: data key; nil if the directory is not encrypted.
    ///   - mayMigrate: whether data of an earlier release may be changed irreversibly.
    ///   - mayLackParts: whether listed databases other than the first may be missing.
    /// - Throws: `.wrongVersion` for data of a newer release or without `mayMigrate`. `.storage` for a folder
    ///   with other contents or permissions, a missing part (`DirectoryPart`), or a missing or wrong key.
    ///   `.file(.noSpace)`.
    public convenience init(
        _ path: String? = nil, key: SecretBytes? = nil, mayMigrate: Bool = true, mayLackParts: Bool = false
    ) throws(ChatError) {
        try self.init(
            path ?? Self.defaultPath(), key: key, mayMigrate: mayMigrate, mayLackParts: mayLackParts,
            clock: SystemWallClock())
    }

    public static let noProfile = ChatError(
        .noSuchProfile, "There is no profile yet: make one with 'chatfs profile create NAME'.")

    /// Returns whether the path exists and is not an empty folder; nil means the default path.
    public static func exists(_ path: String?) -> Bool {
        let path = path ?? defaultPath()
        if let folder = try? OpenFile(path, flags: O_RDONLY | O_DIRECTORY),
            let names = try? PrivateFolder.names(in: folder)
        {
            return !names.isEmpty
        }
        // Opening the directory reports an unreadable one.
        var status = stat()
        return stat(path, &status) == 0
    }

    /// - Parameters:
    ///   - bootClock: time source of limits.
    ///   - network: returns the name of the network filesystem that contains a path.
    init(
        _ path: String, key: SecretBytes? = nil, mayMigrate: Bool = true, mayLackParts: Bool = false,
        clock: any WallClock, bootClock: any BootClock = SystemBootClock(),
        network: (String) -> String? = NetworkFilesystem.name
    ) throws(ChatError) {
        try Self.refuseNetwork(path, network)
        try Self.requireParts(path, hasKey: key != nil)
        do {
            folder = try Self.open(path)
            self.path = try SymbolicLink.resolved(path, to: "open the data directory")
            self.key = key
            use = try Self.beginUse(of: folder)
            try Self.checkKey(key, in: folder)
            _ = try folder.subfolder("profiles")
            // The file name is an on-disk format: all releases must share it.
            signal = try ChangeSignal(path: self.path + "/bell")
            store = try DirectoryStore(
                path: self.path + "/" + Self.databaseFile, key: key,
                consent: mayMigrate ? .given : .missing, reservesSpace: true, clock: bootClock)
            self.clock = clock
            MigrationCopy.sweep(folder.directory, now: SystemWallClock().now())
            ExportFolder.sweep(self.path)
        } catch {
            throw ChatError(wrapping: error)
        }
        markMade()
        if !mayLackParts { try requireRecordedParts() }
        // After a full disk, the next open lists them.
        try? noteParts()
    }

    /// Marks the first database as created, after emptying its log so that losing the log loses no tables.
    /// After a full disk, the next open sets the mark.
    private func markMade() {
        guard faccessat(folder.directory.descriptor, Self.madeMark, F_OK, AT_SYMLINK_NOFOLLOW) != 0 else {
            return
        }
        try? store.emptyJournal()
        try? folder.directory.synchronise()
        try? folder.write(key == nil ? [] : Self.madeEncrypted, to: Self.madeMark)
    }

    /// Creates the folder for the key file, which precedes the first database.
    /// - Throws: the errors of `init`.
    public static func makeFolder(_ path: String) throws(ChatError) {
        try refuseNetwork(path, NetworkFilesystem.name)
        do { _ = try open(path) } catch { throw ChatError(wrapping: error) }
    }

    /// Throws if another user owns the directory, for root too. Blocks briefly.
    /// - Throws: `.storage`.
    public static func requireOwn(_ path: String) throws(ChatError) {
        var status = stat()
        // Opening the directory reports a missing or unreadable one.
        guard stat(path, &status) == 0, status.st_uid != geteuid() else { return }
        let owner =
            getpwuid(status.st_uid).map { String(cString: $0.pointee.pw_name) } ?? "user \(status.st_uid)"
        throw ChatError(
            .storage,
            "The data directory belongs to \(owner): run this as \(owner), or name another with --data.")
    }

    /// Checked before anything is created.
    private static func refuseNetwork(
        _ path: String, _ network: (String) -> String?
    ) throws(ChatError) {
        guard let network = network(path) else { return }
        throw ChatError(
            .storage,
            "The data directory cannot be on a network filesystem (\(network)): its processes could not share "
                + "the database safely there. Name a folder on a disk of this machine with --data.")
    }

    /// If two processes create the folder at once, the second waits for the marker.
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

    /// Refuses an encrypted directory without its key, so that no new data is stored in cleartext.
    private static func checkKey(_ key: SecretBytes?, in folder: PrivateFolder) throws(ChatError) {
        let isEncrypted = faccessat(folder.directory.descriptor, keysFile, F_OK, 0) == 0
        guard isEncrypted && key == nil else { return }
        throw ChatError(.storage, "The data directory is encrypted: it must be unlocked first.")
    }

    // MARK: - Profiles

    /// Returns the profiles in order of creation.
    /// - Throws: `.storage`.
    public func profiles() throws(ChatError) -> [Profile] {
        try read { try $0.profiles.all() }
    }

    /// Sets the profile used if several exist and none is named; nil for none.
    public func mean(profile id: Int64?) { usualProfile.withLock { $0 = id } }

    /// Returns the profile of this name. Without a name, returns the preset (`mean`) or only profile.
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

    /// Returns the profile's folder (as `EmbeddedCore.folder`) and its staging folder, for clients of the
    /// process that holds the profile. Creates missing ones.
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

    /// Creates a profile with its notes folder. Names are unique in a data directory; `DisplayName` checks their form.
    /// - Throws: `.invalidCommand` for a malformed name, `.nameTaken`.
    public func createProfile(_ name: String) throws(ChatError) -> Profile {
        let name = try DisplayName.checked(name, of: "profile")
        return try wrapping {
            let profile = try store.change { tables in
                if try tables.profiles.profile(named: name) != nil {
                    throw ChatError(.nameTaken, "There is already a profile \(name).")
                }
                let profile = try tables.profiles.insert(name, at: clock.now())
                // The folder belongs to a profile that the database has lost; do not reuse it.
                guard try PrivateFolder.names(at: "\(path)/profiles/\(profile.id)").isEmpty else {
                    throw ChatError(
                        .storage,
                        "profiles/\(profile.id) in the data directory holds the data of a profile that "
                            + "\(Self.databaseFile) does not know: put the database back from a backup with its "
                            + "\(Self.databaseFile)-wal, or move that folder away.")
                }
                return profile
            }
            // A lost log must not lose the profile. If there are readers, the next open empties the log.
            try? store.emptyJournal()
            return profile
        }
    }

    /// Returns a profile's chats, even if another process holds it.
    /// - Throws: `.storage`.
    public func chats(of profile: Profile) throws(ChatError) -> [Chat] {
        try read { try $0.chats.all(of: profile.id) }
    }

    // MARK: - Chats between profiles

    /// Makes two profiles each other's contacts.
    /// - Throws: `.noSuchProfile`, `.nameTaken` if they already are, `.invalidCommand` for a single profile.
    public func connect(_ first: String, _ second: String) throws(ChatError) {
        try changeAndSignal { tables in
            let (one, other) = (try profile(first, tables), try profile(second, tables))
            guard one.id != other.id else {
                throw ChatError(
                    .invalidCommand, "A profile cannot be its own contact; it has Saved notes.")
            }
            let sides = [(one.id, other.id), (other.id, one.id)]
            guard try !sides.allSatisfy({ try tables.chats.isConnected($0.0, to: $0.1) }) else {
                throw ChatError(.nameTaken, "\(first) and \(second) are already each other's contact.")
            }
            // A side that left resumes its old chat.
            for (own, contact) in sides {
                let side = try tables.chats.connect(own, to: contact, at: clock.now())
                if let side { try tables.announce([side]) }
            }
        }
    }

    /// Creates a group of at least two profiles. The first one is its owner.
    /// - Throws: `.noSuchProfile`, `.invalidCommand` for the name or members.
    public func createGroup(_ name: String, members: [String]) throws(ChatError) {
        let name = try DisplayName.checked(name, of: "group")
        guard members.count >= 2, Set(members).count == members.count else {
            throw ChatError(.invalidCommand, "A group needs at least two members, each named once.")
        }
        try changeAndSignal { tables in
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

    // MARK: - Changes

    /// Makes a change and signals it to the processes of other profiles.
    func changeAndSignal(_ body: (DirectoryTables) throws -> Void) throws(ChatError) {
        try change(body)
        signal.notify()
    }

    func read<Result>(_ body: (DirectoryTables) throws -> Result) throws(ChatError) -> Result {
        try wrapping { try store.read(body) }
    }

    @discardableResult
    func change<Result>(_ body: (DirectoryTables) throws -> Result) throws(ChatError) -> Result {
        try wrapping { try store.change(body) }
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
