import ChatCore
import Glibc
import Posix

@testable import Hydration

/// The hydrator's files on the disk.
extension Stage {
    /// Chunks with bytes in the cache's file.
    func chunksOnDisk(of file: FileID) -> Set<Int> {
        guard case .chunks(let download) = machine(of: file)?.phase.content else { return [] }
        let stream = download.stream
        return Set(
            (0..<stream.layout.count).filter { if case .disk = stream.place(of: $0) { true } else { false } })
    }

    /// Unnamed files in a folder of the stage, found through this process's descriptors.
    func unnamedFiles(in name: String) throws -> [OpenFile] {
        let descriptors = try OpenFile("/proc/self/fd", flags: O_RDONLY)
        let numbers = try PrivateFolder.names(in: descriptors).filter { number in
            var target = [UInt8](repeating: 0, count: 4096)
            let length = target.withUnsafeMutableBytes {
                readlink(
                    "/proc/self/fd/\(number)", $0.baseAddress!.assumingMemoryBound(to: CChar.self), $0.count)
            }
            let path = String(decoding: target.prefix(max(0, length)), as: UTF8.self)
            return path.hasPrefix(folder.path(name + "/")) && path.hasSuffix("(deleted)")
        }
        // After the search, which would find the copies.
        return numbers.compactMap { Int32($0) }.map { OpenFile(adopting: dup($0)) }
    }
}
