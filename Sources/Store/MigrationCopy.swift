import Base
import Cryptography
import Glibc
import Posix

/// The copy of a database that is made before a change of its schema that cannot be undone: beside it, under the same
/// key, `NAME-before-STEP.db`. Who wants the earlier version of the program back gives it the name of the database.
/// Blocks.
public enum MigrationCopy {
    /// How long it is kept: what is deleted meanwhile is still in it.
    public static let age = Duration.seconds(7 * 86_400)

    private static let word = "-before-"

    static func path(of database: String, before step: String) -> String {
        let stem =
            database.endsWithBytes(of: ".db")
            ? String(decoding: database.utf8.dropLast(3), as: UTF8.self) : database
        return "\(stem)\(word)\(step).db"
    }

    /// Durable when it returns. What a killed process left of one is made anew.
    /// - Throws: `.diskFull` and others of `DatabaseCopy`; nothing is there then.
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

    /// Removes those of a folder that are older than `age`.
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
