import Base
import ChatCore
import Glibc
import Posix
import Store

/// Where the embedded core keeps everything: profiles, chats, messages and files. A folder of mode
/// 0700 with a marker and a version; several processes may use it at once.
///
///     chatfs.db            all tables (`Schema`)
///     bell                 written to when there is news for another process
///     profiles/<id>/lock   who holds the profile
///     profiles/<id>/files  CryptoFiles of sent and received files
///     profiles/<id>/staging, incoming   files on their way in
///
/// All methods block (disk, SQLite): from async code go through a thread pool.
public final class DataDirectory: Sendable {
    /// Absolute.
    public let path: String
    let folder: PrivateFolder
    let database: Database
    let bell: Bell
    let clock: any WallClock

    static let purpose = "chatfs data"
    private static let versionFile = "version"
    private static let version = "1"

    /// `${XDG_DATA_HOME}/chatfs`, with `~/.local/share` where the variable is not set.
    public static func defaultPath() -> String {
        func variable(_ name: String) -> String? {
            guard let value = getenv(name) else { return nil }
            let text = String(cString: value)
            // Relative values are to be ignored (XDG Base Directory Specification).
            return text.hasPrefix("/") ? text : nil
        }
        if let data = variable("XDG_DATA_HOME") { return data + "/chatfs" }
        let home = variable("HOME") ?? getpwuid(getuid()).map { String(cString: $0.pointee.pw_dir) } ?? "/"
        return home + "/.local/share/chatfs"
    }

    /// Opens the directory, making it when it is missing or empty.
    ///
    /// - Throws: `.wrongVersion` for the data of a newer version, `.storage` for a folder that holds
    ///   something else or is open to others, `.file(.noSpace)`.
    public convenience init(_ path: String? = nil) throws(ChatError) {
        try self.init(path ?? Self.defaultPath(), clock: SystemWallClock())
    }

    /// Opens the directory where there is one: for who only looks.
    /// - Throws: `.noSuchProfile` where there is none.
    public convenience init(existing path: String?) throws(ChatError) {
        guard Self.exists(path) else {
            throw ChatError(
                .noSuchProfile, "There is no profile yet: make one with 'chatfs profile create NAME'.")
        }
        try self.init(path)
    }

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

    /// - Parameter network: the network filesystem that a path lies on.
    init(
        _ path: String, clock: any WallClock, network: (String) -> String? = NetworkFilesystem.name
    ) throws(ChatError) {
        // Before anything is made there.
        if let network = network(path) {
            throw ChatError(
                .storage,
                "The data directory cannot be on a network filesystem (\(network)): its processes could not share "
                    + "the database safely there. Name a folder on a disk of this machine with --data.")
        }
        do {
            folder = try Self.open(path)
            guard let absolute = realpath(path, nil) else {
                throw SystemError(code: errno, operation: "open the data directory")
            }
            defer { free(absolute) }
            self.path = String(cString: absolute)
            _ = try folder.subfolder("profiles")
            bell = try Bell(path: self.path + "/bell")
            database = try Database(path: self.path + "/chatfs.db", migrations: Schema.migrations)
            self.clock = clock
        } catch {
            throw ChatError(wrapping: error)
        }
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
                        .storage,
                        "The data directory cannot be used: \(error.sentence) Name another with --data.",
                        cause: error)
                }
                usleep(20_000)
            }
        }
    }

    private static func checkVersion(of folder: PrivateFolder) throws {
        if let file = try? OpenFile(versionFile, flags: O_RDONLY, in: folder.directory) {
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

    // MARK: - Profiles

    /// In the order in which they were made.
    public func profiles() throws(ChatError) -> [Profile] {
        try wrapping {
            try database.read { connection in
                try connection.query("SELECT id, name FROM profile ORDER BY id") { row in
                    Profile(id: row.integer(0), displayName: row.text(1))
                }
            }
        }
    }

    /// The profile of this name, or without a name the only one there is.
    public func profile(named name: String?) throws(ChatError) -> Profile {
        let profiles = try profiles()
        if let name {
            if let profile = profiles.first(where: { $0.displayName == name }) { return profile }
            let made = profiles.isEmpty ? "none yet" : profiles.map(\.displayName).joined(separator: ", ")
            throw ChatError(
                .noSuchProfile,
                "There is no profile \(name); there are: \(made). "
                    + "Make it with 'chatfs profile create NAME'.")
        }
        guard let profile = profiles.first else {
            throw ChatError(
                .noSuchProfile, "There is no profile yet: make one with 'chatfs profile create NAME'.")
        }
        guard profiles.count == 1 else {
            let names = profiles.map(\.displayName).joined(separator: ", ")
            throw ChatError(
                .noSuchProfile, "There are several profiles: choose with --profile one of \(names).")
        }
        return profile
    }

    /// The folder of a profile's own, as `EmbeddedCore.folder`, and the one for files that are to be
    /// sent: for who talks to the process that holds the profile. Made when they are missing.
    public func folders(of profile: Profile) throws(ChatError) -> (own: String, staging: String) {
        try wrapping {
            let folders = try ProfileFolders(of: profile, in: self)
            return (folders.path, folders.stagingPath)
        }
    }

    /// Makes a profile with its note folder. Names are unique in a data directory; for their form see
    /// `docs/semantics.md`.
    public func createProfile(_ name: String) throws(ChatError) -> Profile {
        let name = try DisplayName.checked(name, of: "profile")
        return try wrapping {
            try database.transaction { connection in
                if try connection.exists("SELECT 1 FROM profile WHERE name = ?", name) {
                    throw ChatError(.nameTaken, "There is already a profile \(name).")
                }
                let now = clock.now()
                try connection.execute("INSERT INTO profile (name, created) VALUES (?, ?)", name, now)
                let id = connection.lastInsertedID
                try connection.execute(
                    "INSERT INTO chat (profile, kind, updated) VALUES (?, 'notes', ?)", id, now)
                return Profile(id: id, displayName: name)
            }
        }
    }

    /// The chats of a profile, also while another process has it.
    public func chats(of profile: Profile) throws(ChatError) -> [Chat] {
        try wrapping { try database.read { try ItemRows.chats(of: profile.id, $0) } }
    }

    // MARK: - Chats between profiles

    /// Makes two profiles each other's contact.
    public func connect(_ first: String, _ second: String) throws(ChatError) {
        try wrapping {
            try database.transaction { connection in
                let pair = [try profile(first, connection), try profile(second, connection)]
                guard pair[0].id != pair[1].id else {
                    throw ChatError(
                        .invalidCommand, "A profile cannot be its own contact; it has Saved notes.")
                }
                let sides = [(pair[0], pair[1]), (pair[1], pair[0])]
                let areOpen = try sides.allSatisfy { own, contact in
                    try connection.exists(
                        "SELECT 1 FROM chat WHERE profile = ? AND contact = ? AND ended IS NULL", own.id,
                        contact.id)
                }
                guard !areOpen else {
                    throw ChatError(.nameTaken, "\(first) and \(second) are already each other's contact.")
                }
                // A side that was left goes on where it was.
                for (own, contact) in sides {
                    try connection.execute(
                        """
                        INSERT INTO chat (profile, kind, contact, updated) VALUES (?, 'direct', ?, ?)
                        ON CONFLICT (profile, contact) DO UPDATE SET ended = NULL
                        """, own.id, contact.id, clock.now())
                    let chat = try connection.first(
                        "SELECT id FROM chat WHERE profile = ? AND contact = ?", own.id, contact.id
                    ) { $0.integer(0) }
                    if let chat { try News.chatUpdated(chat).post(to: own.id, connection) }
                }
            }
        }
        bell.ring()
    }

    /// Makes a group of at least two profiles. The first is its owner.
    public func createGroup(_ name: String, members: [String]) throws(ChatError) {
        let name = try DisplayName.checked(name, of: "group")
        guard members.count >= 2, Set(members).count == members.count else {
            throw ChatError(.invalidCommand, "A group needs at least two members, each named once.")
        }
        try wrapping {
            try database.transaction { connection in
                let now = clock.now()
                try connection.execute("INSERT INTO chat_group (name, created) VALUES (?, ?)", name, now)
                let group = connection.lastInsertedID
                for (position, member) in members.enumerated() {
                    let profile = try profile(member, connection)
                    try connection.execute(
                        "INSERT INTO member (chat_group, profile, role) VALUES (?, ?, ?)",
                        group, profile.id, position == 0 ? "owner" : "member")
                    try connection.execute(
                        "INSERT INTO chat (profile, kind, chat_group, updated) VALUES (?, 'group', ?, ?)",
                        profile.id, group, now)
                    try News.chatUpdated(connection.lastInsertedID).post(to: profile.id, connection)
                }
            }
        }
        bell.ring()
    }

    private func profile(_ name: String, _ connection: Connection) throws -> Profile {
        let found = try connection.first("SELECT id FROM profile WHERE name = ?", name) { $0.integer(0) }
        guard let found else {
            throw ChatError(
                .noSuchProfile,
                "There is no profile \(name): make it with 'chatfs profile create NAME'.")
        }
        return Profile(id: found, displayName: name)
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
