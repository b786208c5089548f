import Base
import ChatCore
import Cryptography
import Store

/// The rules of a profile and the files of which its user was notified, in a database in the profile's directory.
/// Several processes may open it. All calls block.
public final class KeepStore: Sendable {
    static let migrations = [
        Migration(
            "rules 0.1",
            """
            CREATE TABLE rule (
                chat TEXT PRIMARY KEY,
                kinds TEXT CHECK (kinds IN ('never', 'media', 'all')),
                largest INTEGER,
                minimum_free INTEGER,
                uses_metered INTEGER CHECK (uses_metered IN (0, 1)),
                moment TEXT CHECK (moment IN ('arrival', 'expiring')),
                receives_small_media INTEGER CHECK (receives_small_media IN (0, 1))
            ) STRICT, WITHOUT ROWID;
            CREATE TABLE told (file INTEGER PRIMARY KEY, expires INTEGER NOT NULL) STRICT;
            CREATE INDEX told_by_expiry ON told (expires);
            CREATE TABLE look (number INTEGER PRIMARY KEY CHECK (number = 1), time INTEGER NOT NULL) STRICT;
            """, replaces: DevelopmentSchema(steps: 2, last: "small media"))
    ]

    private let database: Database

    /// - Parameters:
    ///   - folder: Absolute path of the profile's directory.
    ///   - key: Encryption key; nil if not encrypted.
    /// - Throws: `storage`.
    public init(in folder: String, key: SecretBytes? = nil) throws(KeepingError) {
        do throws(StoreError) {
            database = try Database(
                path: folder + "/keep.sqlite", migrations: Self.migrations, key: key)
        } catch {
            throw Self.wrapping(error)
        }
    }

    public func close() { database.close() }

    // MARK: - Rules

    /// - Throws: `storage`.
    public func rules() throws(KeepingError) -> KeepRules {
        try read { connection in
            var rules = KeepRules()
            _ = try connection.query(
                """
                SELECT chat, kinds, largest, minimum_free, uses_metered, moment, receives_small_media
                FROM rule
                """
            ) { row in
                let (name, rule) = (row.text("chat"), try KeepOverride(row))
                if name.isEmpty {
                    rules.profile = rule
                } else if let chat = ChatReference(name) {
                    rules.chats[chat] = rule
                }
                // Ignore the rule of a chat unknown to this version; it must not apply to all chats.
            }
            return rules
        }
    }

    /// - Parameter chat: nil for the rule of all chats without their own.
    /// - Throws: `storage`.
    public func change(_ chat: ChatReference?, by change: KeepOverride) throws(KeepingError) {
        try write { connection in
            let name = chat?.description ?? ""
            let before = try connection.first(
                """
                SELECT kinds, largest, minimum_free, uses_metered, moment, receives_small_media
                FROM rule WHERE chat = ?
                """,
                name
            ) { try KeepOverride($0) }
            let rule = (before ?? KeepOverride()).changed(by: change)
            try connection.execute(
                """
                INSERT OR REPLACE INTO rule
                    (chat, kinds, largest, minimum_free, uses_metered, moment, receives_small_media)
                VALUES (?, ?, ?, ?, ?, ?, ?)
                """,
                name, rule.kinds?.rawValue, rule.largest, rule.minimumFree, rule.usesMetered,
                rule.moment?.rawValue, rule.receivesSmallMedia)
        }
    }

    /// Removes a rule.
    /// - Throws: `storage`.
    public func reset(_ chat: ChatReference?) throws(KeepingError) {
        try write { try $0.execute("DELETE FROM rule WHERE chat = ?", chat?.description ?? "") }
    }

    // MARK: - Notices

    /// Returns the candidates of which the user was not notified.
    /// - Throws: `storage`.
    public func untold(_ candidates: [KeepCandidate]) throws(KeepingError) -> [KeepCandidate] {
        try read { connection in
            try candidates.filter { candidate in
                try !connection.exists("SELECT 1 FROM told WHERE file = ?", candidate.file.rawValue)
            }
        }
    }

    /// Records that the user was notified of these files.
    /// - Returns: The newly recorded ones.
    /// - Throws: `storage`.
    public func noteTold(_ candidates: [KeepCandidate]) throws(KeepingError) -> [KeepCandidate] {
        try write { connection in
            try candidates.filter { candidate in
                try connection.execute(
                    "INSERT OR IGNORE INTO told (file, expires) VALUES (?, ?)", candidate.file.rawValue,
                    candidate.expires) > 0
            }
        }
    }

    /// Time of the last full scan; nil if there was none.
    /// - Throws: `storage`.
    public func lastScan() throws(KeepingError) -> Timestamp? {
        try read { try $0.first("SELECT time FROM look") { $0.timestamp("time") } }
    }

    /// Records a scan and forgets notices of files that expired long ago.
    /// - Throws: `storage`.
    public func noteScan(_ time: Timestamp) throws(KeepingError) {
        try write { connection in
            try connection.execute("INSERT OR REPLACE INTO look (number, time) VALUES (1, ?)", time)
            let end = time.advanced(by: .zero - KeepTimes.memory - KeepTimes.memory)
            try connection.execute("DELETE FROM told WHERE expires < ?", end)
        }
    }

    // MARK: - Private

    private func read<Result>(_ body: (Connection) throws -> Result) throws(KeepingError) -> Result {
        do {
            return try database.read(body)
        } catch {
            throw Self.wrapping(error)
        }
    }

    @discardableResult
    private func write<Result>(_ body: (Connection) throws -> Result) throws(KeepingError) -> Result {
        do {
            return try database.transaction(body)
        } catch {
            throw Self.wrapping(error)
        }
    }

    private static func wrapping(_ error: any Error) -> KeepingError {
        KeepingError(
            .storage,
            "The rules about what is kept (keep.sqlite) cannot be read or written. \(sentence(of: error))",
            cause: error)
    }
}

extension KeepOverride {
    /// - Throws: `StoreError.damaged` for unknown words.
    fileprivate init(_ row: borrowing Row) throws {
        self.init(
            kinds: try row.valueOrNil("kinds"), largest: row.unsignedOrNil("largest"),
            minimumFree: row.unsignedOrNil("minimum_free"),
            usesMetered: row.integerOrNil("uses_metered").map { $0 != 0 },
            moment: try row.valueOrNil("moment"),
            receivesSmallMedia: row.integerOrNil("receives_small_media").map { $0 != 0 })
    }
}
