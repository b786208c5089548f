import CSQLite
import Glibc

/// A temporary file of SQLite, kept in memory because its content is plain. SQLite uses one for the undo log of a
/// statement from 64 KiB on.
final class MemoryFile: VirtualFile {
    let beneath: UnderlyingFile? = nil
    private var content: [UInt8] = []

    func close() { wipe(from: 0) }

    func read(_ bytes: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int32 {
        let first = min(Int(offset), content.count)
        let count = min(bytes.count, content.count - first)
        content.withUnsafeBytes { content in
            bytes.copyMemory(from: UnsafeRawBufferPointer(rebasing: content[first..<first + count]))
        }
        guard count < bytes.count, let start = bytes.baseAddress else { return SQLITE_OK }
        memset(start + count, 0, bytes.count - count)
        return ResultCode.shortRead
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) -> Int32 {
        let (first, end) = (Int(offset), Int(offset) + bytes.count)
        if end > content.count { content.append(contentsOf: repeatElement(0, count: end - content.count)) }
        content.withUnsafeMutableBytes { content in
            UnsafeMutableRawBufferPointer(rebasing: content[first..<end]).copyMemory(from: bytes)
        }
        return SQLITE_OK
    }

    func truncate(to length: Int64) -> Int32 {
        guard Int(length) < content.count else { return SQLITE_OK }
        wipe(from: Int(length))
        content.removeLast(content.count - Int(length))
        return SQLITE_OK
    }

    func size(_ size: inout Int64) -> Int32 {
        size = Int64(content.count)
        return SQLITE_OK
    }

    func synchronise(_ flags: Int32) -> Int32 { SQLITE_OK }

    func control(_ operation: Int32, _ argument: UnsafeMutableRawPointer?) -> Int32 { SQLITE_NOTFOUND }

    private func wipe(from first: Int) {
        content.withUnsafeMutableBytes { content in
            guard first < content.count, let start = content.baseAddress else { return }
            explicit_bzero(start + first, content.count - first)
        }
    }
}
