import CSQLite
import Cryptography

/// The shared state of one connection's files: database file, cipher and log identity. One thread at a time.
final class SealedConnection {
    let cipher: RecordCipher
    let database: UnderlyingFile
    /// The identity of the current log. Unknown after each lock, because another process may have restarted the log
    /// before it.
    var log: LogIdentity?
    /// Set while SQLite has the log open.
    weak var logFile: LogFile?

    init(cipher: RecordCipher, database: UnderlyingFile) {
        self.cipher = cipher
        self.database = database
    }

    var currentLog: LogIdentity? {
        if log == nil { log = logFile?.identity() }
        return log
    }

    /// Called when SQLite locks the file or its shared memory. The log may have been restarted before.
    func noteLock() { log = nil }
}
