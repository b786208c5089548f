import Base
import CommandLineKit
import Desktop
import Fuse
import Glibc
import Posix

/// The profiles of a data directory that are mounted, as their locks say. Asks no process. Blocks for a moment.
struct MountedProfiles {
    /// Numbers of profiles with their mountpoints.
    private let all: [(profile: Int64, mountpoint: String)]

    /// - Parameter dataFolder: the data directory. Absolute.
    init(of dataFolder: String) {
        let names = (try? PrivateFolder.names(at: dataFolder + "/profiles")) ?? []
        all = names.compactMap { name in
            guard let number = Int64(name),
                let lock = try? OpenFile("\(dataFolder)/profiles/\(name)/lock", flags: O_RDONLY | O_NOFOLLOW),
                let bytes = try? lock.readAll(limit: 8192),
                let mountpoint = ProcessLock.Holder(String(decoding: bytes, as: UTF8.self))?.mountpoint
            else { return nil }
            return (number, mountpoint)
        }
    }

    /// The profile of the mount that a command means (`MountChoice`); nil: none of these.
    /// - Parameter word: of `--mount`; nil for the usual one.
    func meant(_ word: String?) throws -> Int64? {
        guard !all.isEmpty || word != nil else { return nil }
        let mounted: Mounted
        do {
            mounted = try Mounted.usual(word)
        } catch {
            // Nothing was named: then there is no choice to be made.
            guard word != nil else { return onlyOne() }
            throw error
        }
        let found = all.first { $0.mountpoint == mounted.mountpoint }
        if found == nil, word != nil {
            throw Refusal(
                "\(mounted.mountpoint) shows no profile of this data directory: name that with --data, or an official "
                    + "core with --core.")
        }
        return found?.profile ?? onlyOne()
    }

    /// Of several mounts one may be of this data directory.
    private func onlyOne() -> Int64? {
        guard let mounts = try? Mounted.all().map(\.mountpoint) else { return nil }
        let here = all.filter { mounts.contains($0.mountpoint) }
        return here.count == 1 ? here[0].profile : nil
    }
}
