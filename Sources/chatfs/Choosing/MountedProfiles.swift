import Base
import CommandLineKit
import Desktop
import Fuse
import Glibc
import Posix

/// The mounted profiles of a data directory, according to their locks. Queries no process. Blocks briefly.
struct MountedProfiles {
    /// Profile numbers with their mountpoints.
    private let all: [(profile: Int64, mountpoint: String)]

    /// - Parameter dataFolder: Absolute path of the data directory.
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

    /// Returns the profile of the command's mount (`MountChoice`); nil if it is none of these.
    /// - Parameter word: From `--mount`; nil for the default.
    func meant(_ word: String?) throws -> Int64? {
        guard !all.isEmpty || word != nil else { return nil }
        let mounted: Mounted
        do {
            mounted = try Mounted.usual(word)
        } catch {
            // Without a word, an ambiguous choice is no error.
            guard word != nil else { return onlyOne() }
            throw error
        }
        let found = all.first { $0.mountpoint == mounted.mountpoint }
        if found == nil, word != nil {
            throw Refusal(
                "\(mounted.mountpoint) shows no profile of this data directory: give its data directory with --data, or its "
                    + "official core with --core.")
        }
        return found?.profile ?? onlyOne()
    }

    /// Returns the profile if exactly one mount belongs to this data directory.
    private func onlyOne() -> Int64? {
        guard let mounts = try? Mounted.all().map(\.mountpoint) else { return nil }
        let here = all.filter { mounts.contains($0.mountpoint) }
        return here.count == 1 ? here[0].profile : nil
    }
}
