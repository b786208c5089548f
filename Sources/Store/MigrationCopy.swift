import Base
import Cryptography
import Glibc
import Posix

/// A copy of a database made before an irreversible migration: next to it, with the same key, named
/// `NAME-before-STEP.db`. To return to the earlier version of the program, rename it to the database. Blocks.
public enum MigrationCopy {
    /// The time for which it is kept. It still contains content that was deleted meanwhile.
    public static let age = Duration.seconds(7 * 86_400)

    private static let word = "-before-"

    static func path(of database: String, before step: String) -> String {
        let stem =
            database.endsWithBytes(of: ".db")
            ? String(decoding: database.utf8.dropLast(3), as: UTF8.self) : database
        return "\(stem)\(word)\(step).db"
    }

    /// Creates a durable copy. Replaces the remains of a killed process.
    /// - Throws: `.diskFull` and other errors of `DatabaseCopy`; no copy exists then.
    static func make(of database: String, key: SecretBytes?, before step: String) throws(StoreError) {
        let copy = path(of: database, before: step)
        remove(copy)
        do throws(StoreError) {
            try DatabaseCopy.make(from: database, key: key, to: copy, key: key)
        } catch {
            remove(copy)
            throw error
        }
        do throws(SystemError) {
            try OpenFile(copy.parentPath, flags: O_RDONLY | O_DIRECTORY).synchronise()
        } catch {
            throw StoreError(.inputOutput, error.sentence, cause: error)
        }
    }

    /// Deletes copies in a folder that are older than `age`.
    public static func sweep(_ folder: OpenFile, now: Timestamp) {
        for name in (try? PrivateFolder.names(in: folder)) ?? [] where name.contains(word) {
            var status = stat()
            guard name.hasSuffix(".db"), fstatat(folder.descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0,
                Int64(status.st_mtim.tv_sec) < now.seconds - age.components.seconds
            else { continue }
            for suffix in ["", "-wal", "-shm"] { unlinkat(folder.descriptor, name + suffix, 0) }
        }
    }

    private static func remove(_ copy: String) {
        for suffix in ["", "-wal", "-shm"] { unlink(copy + suffix) }
    }
}
