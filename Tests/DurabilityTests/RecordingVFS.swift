import Base
import CSQLite
import Glibc

/// Replaces SQLite's unix VFS, calls it, and records its operations on files. For a process without other work:
/// registered before any database is opened.
enum RecordingVFS {
    private static let operationsSoFar = Lock<[DiskOperation]>([])
    private static let files = Lock<[String: UInt64]>([:])
    private static let prefix = 16

    // Safe: both are set once, before the first database is opened, and never freed.
    private nonisolated(unsafe) static let unix = sqlite3_vfs_find("unix")!
    private nonisolated(unsafe) static let methods = UnsafeMutablePointer<sqlite3_io_methods>.allocate(
        capacity: 1)

    static var operations: [DiskOperation] { operationsSoFar.withLock { $0 } }

    static func note(_ operation: DiskOperation) { operationsSoFar.withLock { $0.append(operation) } }

    /// A file that exists already; its number for the disk model.
    static func add(_ path: String) -> UInt64 {
        files.withLock { files in
            if files[path] == nil { files[path] = UInt64(files.count + 1) }
            return files[path]!
        }
    }

    private static func name(_ path: String) -> String {
        path.lastIndex(of: "/").map { String(path[path.index(after: $0)...]) } ?? path
    }

    static func register() {
        methods.initialize(to: fileMethods())
        let vfs = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
        vfs.initialize(to: unix.pointee)
        vfs.pointee.szOsFile += Int32(prefix)
        vfs.pointee.pNext = nil
        vfs.pointee.xOpen = { _, name, file, flags, flagsOut in
            RecordingVFS.open(name, file!, flags, flagsOut)
        }
        vfs.pointee.xDelete = { _, name, synchronise in
            let result = RecordingVFS.unix.pointee.xDelete(RecordingVFS.unix, name, synchronise)
            let path = String(cString: name!)
            if result == SQLITE_OK {
                RecordingVFS.note(.unlink(path: RecordingVFS.name(path)))
                RecordingVFS.files.withLock { $0[path] = nil }
                if synchronise != 0 { RecordingVFS.note(.syncFolder(path: "")) }
            }
            return result
        }
        // Found before the other one of the same name.
        precondition(sqlite3_vfs_register(vfs, 1) == SQLITE_OK)
        precondition(sqlite3_vfs_find("unix") == vfs)
    }

    private static func open(
        _ name: UnsafePointer<CChar>?, _ file: UnsafeMutablePointer<sqlite3_file>, _ flags: Int32,
        _ flagsOut: UnsafeMutablePointer<Int32>?
    ) -> Int32 {
        let isNew = name.map { access($0, F_OK) != 0 } ?? false
        let result = unix.pointee.xOpen(unix, name, beneath(file), flags, flagsOut)
        guard result == SQLITE_OK, let name else {
            file.pointee.pMethods = nil
            return result
        }
        let path = String(cString: name)
        if isNew { files.withLock { $0[path] = UInt64.random(in: 1000...UInt64.max) } }
        let number = add(path)
        if isNew { note(.create(file: number, path: Self.name(path))) }
        UnsafeMutableRawPointer(file).storeBytes(of: number, toByteOffset: 8, as: UInt64.self)
        file.pointee.pMethods = UnsafePointer(methods)
        return SQLITE_OK
    }

    private static func beneath(_ file: UnsafeMutablePointer<sqlite3_file>) -> UnsafeMutablePointer<
        sqlite3_file
    > {
        (UnsafeMutableRawPointer(file) + prefix).assumingMemoryBound(to: sqlite3_file.self)
    }

    private static func number(_ file: UnsafeMutablePointer<sqlite3_file>) -> UInt64 {
        UnsafeMutableRawPointer(file).load(fromByteOffset: 8, as: UInt64.self)
    }

    private static func real(
        _ file: UnsafeMutablePointer<sqlite3_file>?
    ) -> (UnsafeMutablePointer<sqlite3_file>, sqlite3_io_methods) {
        let file = beneath(file!)
        return (file, file.pointee.pMethods.pointee)
    }

    private static func fileMethods() -> sqlite3_io_methods {
        var methods = sqlite3_io_methods()
        methods.iVersion = 2
        methods.xClose = { file in
            let (real, methods) = RecordingVFS.real(file)
            return methods.xClose(real)
        }
        methods.xRead = { file, bytes, count, offset in
            let (real, methods) = RecordingVFS.real(file)
            return methods.xRead(real, bytes, count, offset)
        }
        methods.xWrite = { file, bytes, count, offset in
            let (real, methods) = RecordingVFS.real(file)
            let written = Array(UnsafeRawBufferPointer(start: bytes, count: Int(count)))
            RecordingVFS.note(.write(file: RecordingVFS.number(file!), offset: Int(offset), bytes: written))
            return methods.xWrite(real, bytes, count, offset)
        }
        methods.xTruncate = { file, size in
            let (real, methods) = RecordingVFS.real(file)
            RecordingVFS.note(.truncate(file: RecordingVFS.number(file!), size: Int(size)))
            return methods.xTruncate(real, size)
        }
        methods.xSync = { file, flags in
            let (real, methods) = RecordingVFS.real(file)
            let result = methods.xSync(real, flags)
            RecordingVFS.note(.syncFile(RecordingVFS.number(file!)))
            // The unix VFS does so for a new file, with the first of these calls.
            RecordingVFS.note(.syncFolder(path: ""))
            return result
        }
        methods.xFileSize = { file, size in
            let (real, methods) = RecordingVFS.real(file)
            return methods.xFileSize(real, size)
        }
        methods.xFileControl = { file, operation, argument in
            let (real, methods) = RecordingVFS.real(file)
            return methods.xFileControl(real, operation, argument)
        }
        methods.xSectorSize = { file in
            let (real, methods) = RecordingVFS.real(file)
            return methods.xSectorSize(real)
        }
        methods.xDeviceCharacteristics = { file in
            let (real, methods) = RecordingVFS.real(file)
            return methods.xDeviceCharacteristics(real)
        }
        addLocks(to: &methods)
        return methods
    }

    private static func addLocks(to methods: inout sqlite3_io_methods) {
        methods.xLock = { file, level in
            let (real, methods) = RecordingVFS.real(file)
            return methods.xLock(real, level)
        }
        methods.xUnlock = { file, level in
            let (real, methods) = RecordingVFS.real(file)
            return methods.xUnlock(real, level)
        }
        methods.xCheckReservedLock = { file, answer in
            let (real, methods) = RecordingVFS.real(file)
            return methods.xCheckReservedLock(real, answer)
        }
        methods.xShmMap = { file, region, size, extend, memory in
            let (real, methods) = RecordingVFS.real(file)
            return methods.xShmMap(real, region, size, extend, memory)
        }
        methods.xShmLock = { file, first, count, flags in
            let (real, methods) = RecordingVFS.real(file)
            return methods.xShmLock(real, first, count, flags)
        }
        methods.xShmBarrier = { file in
            let (real, methods) = RecordingVFS.real(file)
            methods.xShmBarrier(real)
        }
        methods.xShmUnmap = { file, delete in
            let (real, methods) = RecordingVFS.real(file)
            return methods.xShmUnmap(real, delete)
        }
    }
}
