import CLinux
import Glibc

/// Protects the secrets in the process's memory.
public enum ProcessHardening {
    /// For a long-lived process: disables dumps and makes new files private despite the umask.
    /// - Returns: The previous umask.
    @discardableResult
    public static func apply() -> mode_t {
        forbidDumps()
        return umask(0o077)
    }

    /// Disables core dumps and debuggers of the same user, because keys are in memory.
    public static func forbidDumps() {
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
        _ = chatfs_forbid_dumps()
    }

    /// Raises the limit of open files to its maximum: entries, chunks and connections need one each, and the usual 1024
    /// is for programs with select(2).
    public static func allowManyOpenFiles() {
        var limit = rlimit()
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        guard getrlimit(resource, &limit) == 0 else { return }
        limit.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, 65_536))
        setrlimit(resource, &limit)
    }

    /// Limits this single-threaded process permanently to computing and its open streams: no file, program, thread or
    /// socket. For work on hostile bytes.
    /// - Throws: If the kernel refuses.
    public static func computeOnly() throws(SystemError) {
        try check("confine this process") { chatfs_confine_to_computing() }
    }

    /// Prevents access to other processes and changes of the kernel, mounts or namespaces from now on
    /// (`CLinux/Confine.h`), in this single-threaded process. The thread that starts children is exempt, because
    /// fusermount3 needs privileges. Returns false without support of the kernel.
    public static func confineDaemon() -> Bool {
        ChildProcess.prepareStarting()
        return chatfs_confine_daemon() == 0
    }

    /// The Landlock version of the kernel (landlock(7)); 0 without Landlock.
    public static var landlockVersion: Int { Int(chatfs_landlock_version()) }
}
