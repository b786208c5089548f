import ChatCore
import Glibc
import Posix
import TestSupport

@testable import Hydration

/// The hydrator's files on the disk.
extension Stage {
    /// Chunks of a partly received file that are on the disk.
    func chunksOnDisk(of file: FileID) -> Set<Int> {
        guard case .chunks(let download) = machine(of: file)?.phase.content else { return [] }
        return Set((0..<download.layout.count).filter(download.store.isOnDisk))
    }

    /// Unnamed files in a folder of the stage, found through this process's descriptors.
    func unnamedFiles(in name: String) throws -> [OpenFile] {
        try OpenDescriptors.paths()
            .filter { $0.value.hasPrefix(folder.path(name + "/")) && $0.value.hasSuffix("(deleted)") }
            .keys.map { OpenFile(adopting: dup($0)) }
    }
}
