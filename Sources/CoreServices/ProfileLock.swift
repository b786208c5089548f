import ChatCore
import Posix

extension ProcessLock {
    /// Locks a profile for this process, or waits for a process that is ending. Blocks.
    ///
    /// - Parameters:
    ///   - mountpoint: Shown to processes that want the profile.
    ///   - timeout: The maximum wait for a process that is ending.
    /// - Throws: `ChatError.profileInUse` with the name of the process; `SystemError`.
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
