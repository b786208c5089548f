import Base
import CSQLite
import Cryptography
import Glibc
import Posix
import SealedPages

extension Connection {
    /// Opens a database, or creates an empty one.
    convenience init(path: String, key: SecretBytes?) throws(StoreError) {
        SealedVFS.prepareMemory()
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
        var handle: OpaquePointer?
        let result: Int32
        var problem: SealedPagesError?
        if let key {
            try Self.makeSealedFile(path, key)
            let opening = SealedVFS.open(path: path, dataKey: key)
            defer { opening.end() }
            result = sqlite3_open_v2(
                opening.uri, &handle, flags | SQLITE_OPEN_URI, SealedVFS.name)
            problem = opening.problem
        } else {
            try Self.makeFile(path)
            result = sqlite3_open_v2(path, &handle, flags, nil)
        }
        guard let handle else { throw StoreError(StoreError.noMemory.0, StoreError.noMemory.1) }
        self.init(handle: handle)
        if let problem { throw StoreError(problem) }
        try checked(result)
    }

    /// Whether a file opened without a key is a sealed database. Reads through SQLite's file, because closing another
    /// descriptor would drop this process's locks (fcntl(2)).
    var isSealed: Bool {
        var pointer: UnsafeMutablePointer<sqlite3_file>?
        guard sqlite3_file_control(handle, nil, SQLITE_FCNTL_FILE_POINTER, &pointer) == SQLITE_OK,
            let pointer, let methods = pointer.pointee.pMethods
        else { return false }
        var bytes = [UInt8](repeating: 0, count: SealedVFS.magic.count)
        let result = methods.pointee.xRead(pointer, &bytes, Int32(bytes.count), 0)
        return result == SQLITE_OK && bytes == SealedVFS.magic
    }

    private static func makeSealedFile(_ path: String, _ key: SecretBytes) throws(StoreError) {
        do throws(SealedPagesError) {
            if try SealedVFS.make(path: path, dataKey: key) { return }
        } catch {
            throw StoreError(error)
        }
        try closeToOthers(path)
    }

    /// Creates the file with mode 0600 (journal files inherit it), or removes others' permissions from an existing
    /// file. Never opens an existing file, because closing a descriptor would drop locks of another connection in this
    /// process (fcntl(2)).
    private static func makeFile(_ path: String) throws(StoreError) {
        do throws(SystemError) {
            _ = try OpenFile(path, flags: O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
        } catch {
            guard error.code == EEXIST else { throw StoreError(error) }
            try closeToOthers(path)
        }
    }

    private static func closeToOthers(_ path: String) throws(StoreError) {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw StoreError(.notAllowed, "The database is not a regular file.")
        }
        if status.st_mode & 0o077 != 0, chmod(path, 0o600) != 0 {
            throw StoreError(.notAllowed, "The database belongs to another user and others can read it.")
        }
    }
}
