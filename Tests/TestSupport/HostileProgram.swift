import CLinux
import Glibc
import Posix

/// A hostile program in place of one that processes outside bytes: tries forbidden actions and reports its successes.
///
/// Its targets, a file and a process, are compiled in. Without arguments it writes a line for each success. With the
/// arguments of a decoder it writes a red picture (PNG) if it succeeded with nothing, and no other output.
public struct HostileProgram: Sendable {
    public let path: String
    /// Its path.
    private let folder: TemporaryFolder
    /// A file that must not change.
    public let targetFile: String
    /// A process that must live and keep its priority.
    public let targetProcess: ChildProcess
    /// The priority of the tests' process, which may differ from 0.
    private let priority: Int32

    /// Compiles it in `folder` under a name.
    public static func compile(in folder: TemporaryFolder, as name: String) async throws -> HostileProgram {
        let target = try folder.write([1, 2, 3], to: "target of " + name)
        let process = try await ChildProcess.start(.init("/bin/sleep", ["1000"]))
        let source = try folder.write(Array(source.utf8), to: name + ".c")
        let program = folder.path(name)
        let tellsFilesApart = chatfs_landlock_version() > 0 ? 1 : 0
        let outcome = try await Shell.run(
            "gcc",
            [
                "-O1", "-pthread", "-DTARGET=\"\(target)\"", "-DVICTIM=\(process.identifier)",
                "-DTELLS_FILES_APART=\(tellsFilesApart)", "-o", program,
                source,
            ])
        guard outcome.succeeded else { throw WaitedInVain("gcc: \(outcome.errors)") }
        return HostileProgram(
            path: program, folder: folder, targetFile: target, targetProcess: process,
            priority: priority(of: process))
    }

    /// Returns the changes visible from outside.
    public func damage() -> [String] {
        var found: [String] = []
        var status = stat()
        if stat(targetFile, &status) != 0 || status.st_size != 3 || status.st_mode & 0o777 != 0o600 {
            found.append("the file is another")
        }
        if chatfs_listxattr(targetFile, nil, 0) > 0 { found.append("the file has attributes") }
        if targetProcess.endingIfEnded() != nil { found.append("the process is gone") }
        if Self.priority(of: targetProcess) != priority { found.append("the process has another priority") }
        return found
    }

    private static func priority(of process: ChildProcess) -> Int32 {
        getpriority(__priority_which_t(PRIO_PROCESS.rawValue), id_t(process.identifier))
    }

    private static let source = #"""
        #define _GNU_SOURCE
        #include <errno.h>
        #include <fcntl.h>
        #include <poll.h>
        #include <pthread.h>
        #include <sched.h>
        #include <signal.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        #include <sys/ioctl.h>
        #include <sys/mman.h>
        #include <sys/prctl.h>
        #include <sys/resource.h>
        #include <sys/socket.h>
        #include <sys/stat.h>
        #include <sys/syscall.h>
        #include <sys/wait.h>
        #include <unistd.h>

        static int successes;
        static int speaks;

        static void could(const char *what) {
            successes++;
            if (speaks) { printf("could %s\n", what); fflush(stdout); }
        }
        // A created child ends at once; its parent continues.
        static void born(long pid, const char *what) {
            if (pid == 0) { sleep(1000); _exit(0); }
            if (pid > 0) could(what);
        }
        #define TRY(what, call) do { errno = 0; if ((long)(call) >= 0) could(what); } while (0)
        #define CALL(what, ...) TRY(what, syscall(__VA_ARGS__))

        static void *thread(void *done) { *(int *)done = 1; return 0; }

        static void files(const char *own) {
            // Without Landlock it can read the user's files.
            if (TELLS_FILES_APART) {
            TRY("read somebody's file", open(TARGET, O_RDONLY));
            TRY("read the list of users", open("/etc/passwd", O_RDONLY));
            TRY("read what processes say", open("/proc/self/environ", O_RDONLY));
            TRY("list a folder", open("/tmp", O_RDONLY | O_DIRECTORY));
            }
            TRY("write", open(TARGET, O_WRONLY));
            TRY("make a file", open(TARGET ".new", O_WRONLY | O_CREAT, 0600));
            TRY("make a file without a name", open("/tmp", O_TMPFILE | O_RDWR, 0600));
            CALL("open by openat2", 437, AT_FDCWD, TARGET, (long[]){O_RDWR, 0, 0}, 24);
            TRY("truncate", truncate(TARGET, 0));
            TRY("chmod", chmod(TARGET, 0777));
            TRY("fchmodat", syscall(SYS_fchmodat, AT_FDCWD, TARGET, 0777));
            CALL("fchmodat2", 452, AT_FDCWD, TARGET, 0777, 0);
            TRY("chown", chown(TARGET, getuid(), getgid()));
            CALL("setxattr", SYS_setxattr, TARGET, "user.a", "b", 1, 0);
            CALL("setxattrat", 463, AT_FDCWD, TARGET, 0, "user.a", (long[]){(long)"b", 1}, 16);
            CALL("removexattrat", 466, AT_FDCWD, TARGET, 0, "user.a");
            TRY("remove", unlink(TARGET));
            TRY("rename", rename(TARGET, TARGET ".away"));
            TRY("make a link", symlink("/", TARGET ".link"));
            TRY("make a folder", mkdir(TARGET ".folder", 0700));
            TRY("make a pipe", mkfifo(TARGET ".pipe", 0600));
            CALL("set times", SYS_utimensat, AT_FDCWD, TARGET, 0, 0);
            CALL("file_setattr", 469, AT_FDCWD, TARGET, (long[4]){0}, 32, 0);
            CALL("open by handle", SYS_open_by_handle_at, AT_FDCWD, (long[4]){8, 0, 0, 0}, 0);
            TRY("change the root", chroot("/usr"));
            CALL("mount", SYS_mount, "none", "/tmp", "tmpfs", 0, 0);
            CALL("open_tree", 428, AT_FDCWD, "/", 1);
            int self = open(own, O_RDONLY), flags = 0x10;
            if (self >= 0) {
                TRY("FS_IOC_SETFLAGS", ioctl(self, 0x40086602, &flags));
                TRY("FS_IOC_FSSETXATTR", ioctl(self, 0x401c5820, (long[4]){0}));
                TRY("fchmod", fchmod(self, 0777));
                TRY("lease", fcntl(self, F_SETLEASE, F_RDLCK));
                TRY("notify", fcntl(self, F_NOTIFY, DN_MULTISHOT | DN_ACCESS));
                close(self);
            }
            CALL("inotify", SYS_inotify_init1, 0);
            CALL("fanotify", SYS_fanotify_init, 0, 0);
            CALL("memory with a name", SYS_memfd_create, "x", 0);
        }

        static void signals(void) {
            int ends[2];
            if (pipe(ends) == 0) {
                TRY("F_SETOWN", fcntl(ends[0], F_SETOWN, VICTIM));
                TRY("F_SETOWN_EX", fcntl(ends[0], F_SETOWN_EX, (int[]){1, VICTIM}));
                TRY("F_SETSIG", fcntl(ends[0], F_SETSIG, SIGKILL));
                TRY("O_ASYNC", fcntl(ends[0], F_SETFL, O_ASYNC));
                int on = 1;
                TRY("FIOASYNC", ioctl(ends[0], FIOASYNC, &on));
                int owner = VICTIM;
                TRY("FIOSETOWN", ioctl(ends[0], 0x8901, &owner));
                (void)!write(ends[1], "x", 1);
            }
            TRY("kill", kill(VICTIM, 0));
            TRY("kill a group", kill(-1, 0));
            CALL("tgkill", SYS_tgkill, VICTIM, VICTIM, 0);
            CALL("queue a signal", SYS_rt_sigqueueinfo, VICTIM, 0, (long[16]){0});
            CALL("pidfd_open", SYS_pidfd_open, VICTIM, 0);
            CALL("timer", SYS_timer_create, CLOCK_MONOTONIC, 0, (int[1]){0});
        }

        static void processes(void) {
            born(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0), "clone");
            born(syscall(SYS_clone, SIGCHLD | CLONE_NEWUSER, 0, 0, 0, 0), "clone with a user namespace");
            long args[11] = {0};
            args[4] = SIGCHLD;
            born(syscall(435, args, 88), "clone3");
            born(fork(), "fork");
        #ifdef SYS_vfork
            born(syscall(SYS_fork), "the old fork");
        #endif
            TRY("setsid", setsid());
            TRY("setpgid", setpgid(0, 0));
            CALL("unshare users", SYS_unshare, CLONE_NEWUSER);
            CALL("unshare files", SYS_unshare, CLONE_FILES);
            CALL("setns", SYS_setns, 0, 0);
            // The lowest priority, which every process may choose.
            TRY("setpriority", setpriority(PRIO_PROCESS, VICTIM, 19));
            TRY("own priority", setpriority(PRIO_PROCESS, 0, 19));
            CALL("ioprio_set", SYS_ioprio_set, 1, VICTIM, 0x6000);
            CALL("scheduler", SYS_sched_setscheduler, VICTIM, 0, (int[1]){0});
            CALL("affinity", SYS_sched_setaffinity, VICTIM, 8, (long[1]){1});
            struct rlimit limit = {100, 100};
            TRY("limits of others", prlimit(VICTIM, RLIMIT_NOFILE, &limit, 0));
            TRY("look at limits of others", prlimit(VICTIM, RLIMIT_NOFILE, 0, &limit));
            limit.rlim_cur = limit.rlim_max = RLIM_INFINITY;
            TRY("own limits", setrlimit(RLIMIT_CPU, &limit));
            CALL("ptrace", SYS_ptrace, 16, VICTIM, 0, 0);
            CALL("read memory", SYS_process_vm_readv, VICTIM, 0, 0, 0, 0, 0);
            TRY("outlive", prctl(PR_SET_PDEATHSIG, 0));
            TRY("be dumped", prctl(PR_SET_DUMPABLE, 1));
            TRY("be a subreaper", prctl(PR_SET_CHILD_SUBREAPER, 1));
            CALL("set user", SYS_setresuid, getuid(), getuid(), getuid());
            CALL("personality", SYS_personality, 0x40000);
            CALL("listen to a filter", SYS_seccomp, 1, 8, (long[2]){0});
        }

        static void machine(void) {
            CALL("SysV memory", SYS_shmget, 0x4343, 4096, 0600 | 01000);
            CALL("SysV messages", SYS_msgget, 0x4343, 0600 | 01000);
            CALL("SysV semaphores", SYS_semget, 0x4343, 1, 0600 | 01000);
            CALL("POSIX messages", SYS_mq_open, "hostile", O_RDWR | O_CREAT, 0600, 0);
            TRY("TCP", socket(AF_INET, SOCK_STREAM, 0));
            TRY("TCP over IPv6", socket(AF_INET6, SOCK_STREAM, 0));
            TRY("UDP", socket(AF_INET, SOCK_DGRAM, 0));
            TRY("local sockets", socket(AF_UNIX, SOCK_STREAM, 0));
            TRY("netlink", socket(AF_NETLINK, SOCK_RAW, 0));
            TRY("a pair of sockets", socketpair(AF_UNIX, SOCK_STREAM, 0, (int[2]){0, 0}));
            CALL("io_uring", SYS_io_uring_setup, 4, (long[16]){0});
            CALL("bpf", SYS_bpf, 0, (long[16]){0}, 16);
            CALL("userfaultfd", SYS_userfaultfd, 0);
            CALL("perf", SYS_perf_event_open, (long[16]){0}, 0, -1, -1, 0);
            CALL("keyring", SYS_keyctl, 0, -3, 0);
            CALL("add a key", SYS_add_key, "user", "hostile", "x", 1, -3);
            CALL("syslog", SYS_syslog, 10, 0, 0);
            CALL("host name", SYS_sethostname, "x", 0);
            CALL("kcmp", SYS_kcmp, VICTIM, getpid(), 0, 0, 0);
            TRY("a terminal", open("/dev/tty", O_RDONLY));
            TRY("a terminal for writing", open("/dev/tty", O_RDWR));
            TRY("a new terminal", open("/dev/ptmx", O_RDWR | O_NOCTTY));
            for (int i = 0; i < 3; i++) {
                TRY("TIOCSTI", ioctl(i, TIOCSTI, "x"));
                // Its number with a value above 32 bits, which the kernel ignores.
                CALL("TIOCSTI in disguise", SYS_ioctl, i, 0x100000000UL | TIOCSTI, "x");
                TRY("TIOCSCTTY", ioctl(i, TIOCSCTTY, 1));
                TRY("TIOCLINUX", ioctl(i, 0x541c, "\3"));
            }
        }

        // The needs of an honest program.
        static int works(const char *own) {
            int done = 0;
            pthread_t other;
            if (pthread_create(&other, 0, thread, &done) != 0 || pthread_join(other, 0) != 0 || !done) return 0;
            void *memory = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            int libraries = open("/usr/lib", O_RDONLY | O_DIRECTORY), program = open(own, O_RDONLY);
            return memory != MAP_FAILED && libraries >= 0 && program >= 0;
        }

        static const unsigned char red[] = {RED};

        int main(int count, char **arguments) {
            speaks = count == 1;
            int honest = works(arguments[0]);
            files(arguments[0]);
            signals();
            processes();
            machine();
            if (speaks) {
                puts(honest ? "works" : "does not work");
                return 0;
            }
            if (successes || !honest) return 1;
            return write(1, red, sizeof red) == sizeof red ? 0 : 1;
        }
        """#
        .replacing("RED}", with: redPicture.map(String.init).joined(separator: ",") + "}")

    /// 8 by 8 pixels of 255, 0, 0 (PNG).
    private static let redPicture: [UInt8] = [
        137, 80, 78, 71, 13, 10, 26, 10, 0, 0, 0, 13, 73, 72, 68, 82, 0, 0, 0, 8, 0, 0, 0, 8, 8, 2, 0, 0, 0,
        75, 109, 41, 220, 0, 0, 0, 17, 73, 68, 65, 84, 120, 218, 99, 248, 207, 192, 128, 21, 49, 12, 45, 9, 0,
        40, 255, 63, 193, 206, 119, 200, 79, 0, 0, 0, 0, 73, 69, 78, 68, 174, 66, 96, 130,
    ]
}
