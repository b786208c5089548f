import ChatCore
import Glibc
import Posix
import TestSupport

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
        try OpenDescriptors.paths()
            .filter { $0.value.hasPrefix(folder.path(name + "/")) && $0.value.hasSuffix("(deleted)") }
            .keys.map { OpenFile(adopting: dup($0)) }
    }
}
