import CSQLite
import Glibc

@testable import SealedPages

/// A file of SQLite in memory, in place of one of its unix VFS. Bytes after its end read as zeros.
struct MemoryDatabaseFile {
    // Safe: all memory belongs to this value, is used by one thread, and is freed by `close`.
    private let memory: UnsafeMutablePointer<Layout>

    /// The files passed to SQLite's functions begin with their table.
    private struct Layout {
        var file: sqlite3_file
        var bytes: UnsafeMutableRawPointer
        var count: Int
    }

    // Safe: written once, never freed.
    private nonisolated(unsafe) static let methods: UnsafePointer<sqlite3_io_methods> = {
        var methods = sqlite3_io_methods()
        methods.iVersion = 1
        methods.xRead = { file, bytes, count, offset in
            let (layout, count, first) = (MemoryDatabaseFile.layout(file), Int(count), Int(offset))
            let present = max(0, min(count, layout.count - first))
            if present > 0 { memcpy(bytes!, layout.bytes + first, present) }
            guard present < count else { return SQLITE_OK }
            memset(bytes! + present, 0, count - present)
            return ResultCode.shortRead
        }
        methods.xFileSize = { file, size in
            size?.pointee = Int64(MemoryDatabaseFile.layout(file).count)
            return SQLITE_OK
        }
        let pointer = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
        pointer.initialize(to: methods)
        return UnsafePointer(pointer)
    }()

    private static func layout(_ file: UnsafeMutablePointer<sqlite3_file>?) -> Layout {
        UnsafeMutableRawPointer(file!).loadUnaligned(as: Layout.self)
    }

    init(_ bytes: [UInt8]) {
        let content = UnsafeMutableRawPointer.allocate(byteCount: max(1, bytes.count), alignment: 64)
        bytes.withUnsafeBytes {
            if $0.count > 0 { content.copyMemory(from: $0.baseAddress!, byteCount: $0.count) }
        }
        memory = .allocate(capacity: 1)
        memory.initialize(
            to: Layout(file: sqlite3_file(pMethods: Self.methods), bytes: content, count: bytes.count))
    }

    var file: UnderlyingFile {
        UnderlyingFile(pointer: UnsafeMutableRawPointer(memory).assumingMemoryBound(to: sqlite3_file.self))
    }

    func close() {
        memory.pointee.bytes.deallocate()
        memory.deallocate()
    }
}
