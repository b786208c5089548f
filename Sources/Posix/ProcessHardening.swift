import CLinux
import Glibc

/// What the process does for the secrets in its memory.
public enum ProcessHardening {
    /// For a process that stays: no dumps, and new files are closed to others whatever the caller's umask was.
    /// - Returns: the umask before.
    @discardableResult
    public static func apply() -> mode_t {
        forbidDumps()
        return umask(0o077)
    }

    /// No core dumps and no debugger of the same user: keys are in this memory.
    public static func forbidDumps() {
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
        _ = chatfs_forbid_dumps()
    }

    /// As many open files as this process may have: every open entry, chunk and connection is one, and the
    /// usual 1024 are for programs that use select(2).
    public static func allowManyOpenFiles() {
        var limit = rlimit()
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        guard getrlimit(resource, &limit) == 0 else { return }
        limit.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, 65_536))
        setrlimit(resource, &limit)
    }

    /// From now on this process, of one thread, can only compute and use streams that are open: no file, no
    /// program, no thread, no socket. For good; for work on bytes of strangers.
    /// - Throws: where the kernel does not permit it.
    public static func computeOnly() throws(SystemError) {
        try check("confine this process") { chatfs_confine_to_computing() }
    }

    /// From now on nothing in this process, of one thread yet, looks into other processes or changes the kernel,
    /// mounts or namespaces (`CLinux/Confine.h`), but for the thread that starts children: fusermount3 needs
    /// privileges that it could not get otherwise. False where the kernel has no such filters.
    public static func confineDaemon() -> Bool {
        ChildProcess.prepareStarting()
        return chatfs_confine_daemon() == 0
    }

    /// The kernel sends `signal` to this process when its parent dies.
    public static func dieWithParent(signal: Int32 = SIGTERM) {
        _ = chatfs_signal_on_parent_death(signal)
    }
}
