import CSQLite
import Cryptography

/// What the files of one connection to a sealed database have in common: its database file, the cipher with its
/// key, and what is known of the log. One thread at a time.
final class SealedConnection {
    let cipher: RecordCipher
    let database: UnderlyingFile
    /// The log that the file of that name holds now. Unknown after each lock: another process may have begun a new
    /// one until then, and cannot from then on.
    var log: LogIdentity?
    /// Open while SQLite has the log open.
    weak var logFile: LogFile?

    init(cipher: RecordCipher, database: UnderlyingFile) {
        self.cipher = cipher
        self.database = database
    }

    var currentLog: LogIdentity? {
        if log == nil { log = logFile?.identity() }
        return log
    }

    /// SQLite has locked the file or its shared memory: the log may be another one since it last did.
    func noteLock() { log = nil }
}
