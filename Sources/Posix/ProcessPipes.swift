import Glibc

/// The pipes of other processes, from proc(5).
public enum ProcessPipes {
    /// Returns the names of a process's open pipes; none if it is not visible. Reads only links, so it never waits.
    public static func identifiers(of process: pid_t) -> Set<String> {
        Set(descriptors(of: process).compactMap { identifier(of: $0) })
    }

    /// Returns the processes of the same pipeline (process group) that can write into the pipe at the standard input of
    /// `process`; none if that is no pipe. Reads proc(5) for all processes, but never waits.
    public static func writers(intoInputOf process: pid_t) -> [pid_t] {
        guard process > 0, let pipe = identifier(of: "/proc/\(process)/fd/0") else { return [] }
        let group = getpgid(process)
        guard group > 0 else { return [] }
        return ProcessInformation.processes().filter { other in
            other != process && getpgid(other) == group
                && descriptors(of: other).contains { isWritable($0) && identifier(of: $0) == pipe }
        }
    }

    private static func descriptors(of process: pid_t) -> [String] {
        guard process > 0 else { return [] }
        let folder = "/proc/\(process)/fd"
        return ProcessInformation.names(in: folder).map { folder + "/" + $0 }
    }

    private static func identifier(of descriptor: String) -> String? {
        SymbolicLink.target(of: descriptor).flatMap { $0.hasPrefix("pipe:[") ? $0 : nil }
    }

    /// The mode of the link has the access of open(2).
    private static func isWritable(_ descriptor: String) -> Bool {
        var status = stat()
        return lstat(descriptor, &status) == 0 && status.st_mode & S_IWUSR != 0
    }
}
