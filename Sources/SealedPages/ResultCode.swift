import CSQLite

/// SQLite result codes that Swift cannot import (https://sqlite.org/rescode.html).
enum ResultCode {
    static let read = SQLITE_IOERR | 1 << 8
    static let shortRead = SQLITE_IOERR | 2 << 8
    static let write = SQLITE_IOERR | 3 << 8
    static let status = SQLITE_IOERR | 7 << 8
    static let sharedMemoryLock = SQLITE_IOERR | 20 << 8
    static let sharedMemoryMap = SQLITE_IOERR | 21 << 8
    /// SQLITE_IOERR_DATA: the bytes on disk are not those written.
    static let damagedPage = SQLITE_IOERR | 32 << 8
}
