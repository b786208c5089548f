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

    /// Files of this process in a folder of the stage, with or without a name.
    func openFiles(in name: String) throws -> [OpenFile] {
        try OpenDescriptors.paths()
            .filter { $0.value.hasPrefix(folder.path(name + "/")) }
            .keys.map { OpenFile(adopting: dup($0)) }
            .filter { try $0.status().st_mode & S_IFMT == S_IFREG }
    }
}
