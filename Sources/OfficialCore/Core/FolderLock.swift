import Base
import ChatCore
import Glibc
import Posix

/// Keeps a core's folder to one process, by an flock(2) that the kernel takes back when the process ends.
/// The file names the holder for whom it turns away.
final class FolderLock: Sendable {
    private let held: Lock<OpenFile?>

    /// How long to wait for a process that is just leaving.
    private static let patience = Duration.seconds(10)

    /// Blocks while the holder has said that it is leaving.
    init(_ folder: PrivateFolder, mountpoint: String?) throws {
        let file = try OpenFile("lock", flags: O_RDWR | O_CREAT, in: folder.directory)
        let start = ContinuousClock.now
        while try !file.tryLock() {
            let holder = String(decoding: try file.readAll(limit: 8192), as: UTF8.self)
            guard holder.isEmpty, ContinuousClock.now - start < Self.patience else {
                throw ChatError(
                    .profileInUse, holder.isEmpty ? "The profile is being left by another process." : holder)
            }
            usleep(50_000)
        }
        let place = mountpoint.map { ", mounted at \($0)" } ?? ""
        try file.truncate(to: 0)
        try file.write(Array("The profile is in use by process \(getpid())\(place).".utf8), at: 0)
        held = Lock(file)
    }

    /// Says that the lock will be free soon.
    func leave() { try? held.withLock { $0 }?.truncate(to: 0) }

    func release() { held.withLock { $0 = nil } }
}
