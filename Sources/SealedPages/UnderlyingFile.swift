import CSQLite

/// A file of SQLite's unix VFS, which does the system calls, locks and shared memory. Returns SQLite result codes.
struct UnderlyingFile {
    // Safe: valid from opening to closing, which the owner does in order. SQLite uses a file in one thread at a time.
    let pointer: UnsafeMutablePointer<sqlite3_file>

    var methods: sqlite3_io_methods { pointer.pointee.pMethods.pointee }

    /// Bytes beyond the end of the file read as zeros, with `ResultCode.shortRead`.
    func read(_ bytes: UnsafeMutableRawPointer, _ count: Int, at position: Int64) -> Int32 {
        methods.xRead(pointer, bytes, Int32(count), position)
    }

    func write(_ bytes: UnsafeRawPointer, _ count: Int, at position: Int64) -> Int32 {
        methods.xWrite(pointer, bytes, Int32(count), position)
    }

    /// The size on disk in bytes, or nil if the system call fails.
    func size() -> Int64? {
        var size: Int64 = 0
        return methods.xFileSize(pointer, &size) == SQLITE_OK ? size : nil
    }
}
