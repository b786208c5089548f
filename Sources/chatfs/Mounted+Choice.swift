import CommandLineKit
import Desktop
import Fuse

extension Mounted {
    /// The mount that the user means: the one named, or the only one.
    static func chosen(_ path: String?) throws -> Mounted {
        if let path { return try at(try Mountpoint.absolutePath(of: path)) }
        let mounts = try all()
        guard let mounted = mounts.first else {
            throw DesktopError(.notMounted, "Nothing of ChatFS is mounted.")
        }
        guard mounts.count == 1 else {
            throw Refusal(
                "There are several mounts: name one of \(mounts.map(\.mountpoint).joined(separator: ", ")).")
        }
        return mounted
    }
}
