import JSON

/// The library's result of opening its databases (`DBMigrationResult`), as an error.
enum MigrationResult {
    /// Returns true if the passphrase was right, for an open without migration.
    static func hasOpened(_ answer: [UInt8]) throws(OfficialCoreError) -> Bool {
        switch JSONValue.parse(answer)?.type {
        case "ok", "errorMigration": true
        case "errorNotADatabase": false
        default:
            throw error(in: answer)
                ?? OfficialCoreError(.database, "The SimpleX database could not be opened.")
        }
    }

    /// Returns nil if the databases are open.
    static func error(in answer: [UInt8]) -> OfficialCoreError? {
        guard let json = JSONValue.parse(answer), let type = json.type else {
            return OfficialCoreError(.notUnderstood, "The SimpleX library returned an invalid answer.")
        }
        switch type {
        case "ok": return nil
        case "errorNotADatabase":
            return OfficialCoreError(
                .database,
                "The SimpleX database cannot be opened: the passphrase is wrong, or it is not a database.")
        case "errorMigration": return migration(json["migrationError"])
        case "errorSQL":
            return OfficialCoreError(
                .database, "The SimpleX database could not be migrated: a change failed.")
        case "invalidConfirmation", "invalidQueueSize":
            return OfficialCoreError(.notUnderstood, "The SimpleX library did not accept the call.")
        default:
            return OfficialCoreError(.database, "The SimpleX database could not be opened.")
        }
    }

    private static func migration(_ json: JSONValue?) -> OfficialCoreError {
        switch json?.type {
        case "upgrade":
            OfficialCoreError(
                .database, "The SimpleX database is older than this library and was not migrated.")
        case "downgrade":
            OfficialCoreError(
                .database, "The SimpleX database was written by a newer version; use a newer library.")
        case "migrationError":
            OfficialCoreError(
                .database, "The SimpleX database and this library belong to different version branches.")
        default:
            OfficialCoreError(.database, "The SimpleX database could not be migrated.")
        }
    }
}
