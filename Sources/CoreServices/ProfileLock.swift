import ChatCore
import Posix

extension ProcessLock {
    /// Keeps a profile to this process, or waits for one that is just leaving. Blocks.
    ///
    /// - Parameters:
    ///   - mountpoint: told to others who want the profile.
    ///   - timeout: how long to wait for a process that is finishing.
    /// - Throws: `ChatError.profileInUse` naming the process that has it; `SystemError`.
    public static func takeProfile(
        _ file: OpenFile, mountpoint: String?, timeout: Duration = .seconds(10)
    ) throws -> ProcessLock {
        switch try take(file, mountpoint: mountpoint, timeout: timeout) {
        case .taken(let lock): return lock
        case .refused(let holder):
            throw ChatError(
                .profileInUse, "The profile is in use by \(holder?.description ?? "another process").")
        }
    }
}
