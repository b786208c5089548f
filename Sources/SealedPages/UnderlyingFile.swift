import CSQLite

/// A file of SQLite's own unix VFS, which does what is not cryptography: the system calls, the locks, the shared
/// memory. Results are SQLite's codes.
struct UnderlyingFile {
    // Safe: valid from its opening to its closing, which the owner of this value does in order; SQLite uses a file in
    // one thread at a time.
    let pointer: UnsafeMutablePointer<sqlite3_file>

    var methods: sqlite3_io_methods { pointer.pointee.pMethods.pointee }

    /// What is beyond the end of the file reads as zeros, and as `ResultCode.shortRead`.
    func read(_ bytes: UnsafeMutableRawPointer, _ count: Int, at position: Int64) -> Int32 {
        methods.xRead(pointer, bytes, Int32(count), position)
    }

    func write(_ bytes: UnsafeRawPointer, _ count: Int, at position: Int64) -> Int32 {
        methods.xWrite(pointer, bytes, Int32(count), position)
    }

    /// The size on disk, nil where the system refuses to tell.
    func size() -> Int64? {
        var size: Int64 = 0
        return methods.xFileSize(pointer, &size) == SQLITE_OK ? size : nil
    }
}
