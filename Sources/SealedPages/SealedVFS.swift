import Base
import CSQLite
import Cryptography
import Glibc
import Posix

/// A SQLite VFS that encrypts database pages and logs on disk. Such a database is always in WAL mode: rollback journals
/// are neither created nor read. Temporary files are in memory. SQLite's own shared memory of the log holds only page
/// numbers.
///
///     let opening = SealedVFS.open(path: path, dataKey: key)
///     defer { opening.end() }
///     sqlite3_open_v2(opening.uri, &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_URI, SealedVFS.name)
///
/// Thread-safe; each connection in one thread at a time. Does not support `locking_mode = EXCLUSIVE`.
public enum SealedVFS {
    public static let name = "chatfs-sealed"

    /// The result code of a read whose bytes are not those written.
    public static var damagedPage: Int32 { ResultCode.damagedPage }

    /// Makes SQLite zero memory that it may copy into files. Call before any other SQLite function, also for plain
    /// databases. Returns false if SQLite was used before.
    @discardableResult
    public static func prepareMemory() -> Bool { isMemoryPrepared }

    private static let isMemoryPrepared = chatfs_sqlite_zero_memory() == SQLITE_OK

    // Safe: created once before use, changed only by SQLite under its own mutex, and never freed.
    private nonisolated(unsafe) static let registered: UnsafeMutablePointer<sqlite3_vfs> = {
        let vfs = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
        vfs.initialize(to: functions())
        let result = sqlite3_vfs_register(vfs, 0)
        precondition(result == SQLITE_OK, "SQLite could not register the VFS")
        return vfs
    }()

    // Safe: SQLite's own object, which lives as long as the process.
    nonisolated(unsafe) static let unix: UnsafeMutablePointer<sqlite3_vfs> = {
        guard let found = sqlite3_vfs_find("unix") else { preconditionFailure("SQLite has no unix VFS") }
        return found
    }()

    // Safe: written once before it is shared, never freed.
    private nonisolated(unsafe) static let methods: UnsafePointer<sqlite3_io_methods> = {
        let methods = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
        methods.initialize(to: fileMethods())
        return UnsafePointer(methods)
    }()

    // Safe: written once, never freed.
    private nonisolated(unsafe) static let nameText = strdup(name)

    static func register() {
        prepareMemory()
        _ = registered
    }

    // MARK: - The functions of the VFS

    private static func functions() -> sqlite3_vfs {
        var vfs = sqlite3_vfs()
        vfs.iVersion = 2
        vfs.szOsFile = FileMemory.size(ofBeneath: unix.pointee.szOsFile)
        vfs.mxPathname = unix.pointee.mxPathname
        vfs.zName = UnsafePointer(nameText)
        vfs.xOpen = { _, name, file, flags, flagsOut in
            guard let file else { return SQLITE_CANTOPEN }
            return SealedVFS.open(name, file, flags, flagsOut)
        }
        vfs.xDelete = { _, name, synchronise in
            SealedVFS.isJournal(name)
                ? SQLITE_OK : SealedVFS.unix.pointee.xDelete(SealedVFS.unix, name, synchronise)
        }
        vfs.xAccess = { _, name, flags, answer in
            guard SealedVFS.isJournal(name) else {
                return SealedVFS.unix.pointee.xAccess(SealedVFS.unix, name, flags, answer)
            }
            answer?.pointee = 0
            return SQLITE_OK
        }
        vfs.xFullPathname = { SealedVFS.unix.pointee.xFullPathname(SealedVFS.unix, $1, $2, $3) }
        vfs.xRandomness = { SealedVFS.unix.pointee.xRandomness(SealedVFS.unix, $1, $2) }
        vfs.xSleep = { SealedVFS.unix.pointee.xSleep(SealedVFS.unix, $1) }
        vfs.xCurrentTime = { SealedVFS.unix.pointee.xCurrentTime(SealedVFS.unix, $1) }
        vfs.xGetLastError = { SealedVFS.unix.pointee.xGetLastError(SealedVFS.unix, $1, $2) }
        vfs.xCurrentTimeInt64 = { SealedVFS.unix.pointee.xCurrentTimeInt64(SealedVFS.unix, $1) }
        return vfs
    }

    private static func isJournal(_ name: UnsafePointer<CChar>?) -> Bool {
        guard let name else { return false }
        let (length, suffix) = (strlen(name), "-journal")
        return length > suffix.utf8.count && strcmp(name + length - suffix.utf8.count, suffix) == 0
    }

    private static func open(
        _ name: UnsafePointer<CChar>?, _ file: UnsafeMutablePointer<sqlite3_file>, _ flags: Int32,
        _ flagsOut: UnsafeMutablePointer<Int32>?
    ) -> Int32 {
        let memory = FileMemory(file)
        memory.refuse()
        if flags & SQLITE_OPEN_MAIN_DB != 0 {
            guard let name, let request = OpeningRequests.find(sqlite3_uri_parameter(name, Opening.parameter))
            else { return SQLITE_CANTOPEN }
            return beneath(memory, name, flags, flagsOut) { file throws(SealedPagesError) in
                DatabaseFile(file, cipher: RecordCipher(key: try recordKey(of: file, request.dataKey)))
            } refused: {
                request.note($0)
            }
        }
        if flags & SQLITE_OPEN_WAL != 0 {
            guard let name, let main = sqlite3_database_file_object(name),
                let database = FileMemory(main).file as? DatabaseFile
            else { return SQLITE_CANTOPEN }
            return beneath(memory, name, flags, flagsOut) { file throws(SealedPagesError) in
                LogFile(file, of: database)
            } refused: { _ in
            }
        }
        // A journal would be a second way to end a transaction.
        guard flags & (SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL) == 0 else {
            return SQLITE_CANTOPEN
        }
        flagsOut?.pointee = flags
        memory.open(MemoryFile(), methods: methods)
        return SQLITE_OK
    }

    /// Opens a file of the unix VFS and wraps it with `make`.
    private static func beneath(
        _ memory: FileMemory, _ name: UnsafePointer<CChar>, _ flags: Int32,
        _ flagsOut: UnsafeMutablePointer<Int32>?,
        _ make: (UnderlyingFile) throws(SealedPagesError) -> any VirtualFile,
        refused: (SealedPagesError) -> Void
    ) -> Int32 {
        let file = memory.beneath
        let result = unix.pointee.xOpen(unix, name, file, flags, flagsOut)
        guard result == SQLITE_OK else { return result }
        do throws(SealedPagesError) {
            memory.open(try make(UnderlyingFile(pointer: file)), methods: methods)
            return SQLITE_OK
        } catch {
            refused(error)
            _ = file.pointee.pMethods.pointee.xClose(file)
            return SQLITE_NOTADB
        }
    }

    private static func recordKey(
        of file: UnderlyingFile, _ dataKey: SecretBytes
    ) throws(SealedPagesError) -> SecretBytes {
        var bytes = [UInt8](repeating: 0, count: DatabaseHeader.provenLength)
        let result = file.read(&bytes, bytes.count, at: 0)
        guard result == SQLITE_OK || result == ResultCode.shortRead, let size = file.size() else {
            throw .file(SystemError(code: errno, operation: "read the database"))
        }
        return try DatabaseHeader.parse(bytes, size: size, dataKey: dataKey).recordKey(from: dataKey)
    }

    // MARK: - The functions of a file

    private static func fileMethods() -> sqlite3_io_methods {
        var methods = sqlite3_io_methods()
        // No xFetch: mapped memory would be ciphertext.
        methods.iVersion = 2
        methods.xClose = { FileMemory($0!).close() }
        methods.xRead = { file, bytes, count, offset in
            FileMemory(file!).file.read(
                UnsafeMutableRawBufferPointer(start: bytes, count: Int(count)), at: offset)
        }
        methods.xWrite = { file, bytes, count, offset in
            FileMemory(file!).file.write(UnsafeRawBufferPointer(start: bytes, count: Int(count)), at: offset)
        }
        methods.xTruncate = { FileMemory($0!).file.truncate(to: $1) }
        methods.xSync = { FileMemory($0!).file.synchronise($1) }
        methods.xFileSize = { file, size in
            var found: Int64 = 0
            let result = FileMemory(file!).file.size(&found)
            size?.pointee = found
            return result
        }
        methods.xFileControl = { FileMemory($0!).file.control($1, $2) }
        methods.xSectorSize = { file in
            guard let beneath = FileMemory(file!).file.beneath else { return 4096 }
            return beneath.methods.xSectorSize(beneath.pointer)
        }
        // A torn record is lost, but its neighbours stay intact if the disk guarantees that. No write of any size is
        // atomic.
        methods.xDeviceCharacteristics = { file in
            guard let beneath = FileMemory(file!).file.beneath else { return 0 }
            return beneath.methods.xDeviceCharacteristics(beneath.pointer) & SQLITE_IOCAP_POWERSAFE_OVERWRITE
        }
        addLocks(to: &methods)
        return methods
    }

    private static func addLocks(to methods: inout sqlite3_io_methods) {
        methods.xLock = { file, level in
            let file = FileMemory(file!).file
            guard let beneath = file.beneath else { return SQLITE_OK }
            let result = beneath.methods.xLock(beneath.pointer, level)
            if result == SQLITE_OK { (file as? DatabaseFile)?.connection.noteLock() }
            return result
        }
        methods.xUnlock = { file, level in
            FileMemory(file!).file.beneath.map { $0.methods.xUnlock($0.pointer, level) } ?? SQLITE_OK
        }
        methods.xCheckReservedLock = { file, answer in
            guard let beneath = FileMemory(file!).file.beneath else {
                answer?.pointee = 0
                return SQLITE_OK
            }
            return beneath.methods.xCheckReservedLock(beneath.pointer, answer)
        }
        methods.xShmMap = { file, region, size, extend, memory in
            guard let beneath = FileMemory(file!).file.beneath else { return ResultCode.sharedMemoryMap }
            return beneath.methods.xShmMap(beneath.pointer, region, size, extend, memory)
        }
        methods.xShmLock = { file, first, count, flags in
            guard let database = FileMemory(file!).file as? DatabaseFile, let beneath = database.beneath
            else {
                return ResultCode.sharedMemoryLock
            }
            let result = beneath.methods.xShmLock(beneath.pointer, first, count, flags)
            if result == SQLITE_OK, flags & SQLITE_SHM_LOCK != 0 { database.connection.noteLock() }
            return result
        }
        methods.xShmBarrier = { file in
            guard let beneath = FileMemory(file!).file.beneath else { return }
            beneath.methods.xShmBarrier(beneath.pointer)
        }
        methods.xShmUnmap = { file, delete in
            guard let beneath = FileMemory(file!).file.beneath else { return SQLITE_OK }
            return beneath.methods.xShmUnmap(beneath.pointer, delete)
        }
    }
}
