import CFuse3
import FileSystem
import Glibc
import Namespace

extension Operations {
    /// ENOSYS disables OPENDIR and RELEASEDIR (FUSE_NO_OPENDIR_SUPPORT, Linux 5.1). The kernel then caches each listing
    /// until the folder is invalidated.
    static func opendir(_ request: consuming Request) { request.fail(ENOSYS) }

    static func readdir(_ request: consuming Request, _ listing: Listing) {
        listing.begin(request)
    }

    static func fsyncdir(_ request: consuming Request, _ folder: NodeID) {
        request.answer(request.context.fileSystem.synchronise(folder: folder))
    }
}
