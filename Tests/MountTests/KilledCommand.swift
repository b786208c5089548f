import TestSupport

/// Kills a command at one of the steps at which it changes the disk or prints. A preloaded C library counts its system
/// calls; child processes are not counted.
struct KilledCommand {
    /// Path for the command's environment.
    let library: String

    init(in folder: TemporaryFolder) async throws {
        _ = try folder.makeFolder("killing")
        library = folder.path("killing/killing.so")
        try folder.write(Array(Self.source.utf8), to: "killing/killing.c")
        let made = try await Shell.run(
            "gcc", ["-shared", "-fPIC", "-o", library, folder.path("killing/killing.c"), "-ldl"])
        guard made.succeeded else { throw WaitedInVain("gcc: \(made.errors)") }
    }

    /// - Parameter step: Number of the call before which it ends, from 1.
    func environment(endingAt step: Int) -> [String: String?] {
        ["LD_PRELOAD": library, "KILLED_AT": "\(step)"]
    }

    private static let source = #"""
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <signal.h>
        #include <stdlib.h>
        #include <string.h>
        #include <sys/types.h>
        #include <unistd.h>
        static int left = -1;
        __attribute__((constructor)) static void begin(int count, char **words) {
            const char *text = getenv("KILLED_AT");
            if (!text || count < 2 || !strstr(words[0], "chatfs") || !strcmp(words[1], "use-keyring")) return;
            left = atoi(text);
        }
        static void step(void) {
            if (left > 0 && __atomic_sub_fetch(&left, 1, __ATOMIC_SEQ_CST) == 0) kill(getpid(), SIGKILL);
        }
        #define NEXT(type, name, ...) ((type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name))
        int rename(const char *from, const char *to) {
            step();
            return NEXT(int, rename, const char *, const char *)(from, to);
        }
        int unlink(const char *path) { step(); return NEXT(int, unlink, const char *)(path); }
        int fsync(int file) { step(); return NEXT(int, fsync, int)(file); }
        ssize_t write(int file, const void *bytes, size_t count) {
            if (file == STDOUT_FILENO) step();
            return NEXT(ssize_t, write, int, const void *, size_t)(file, bytes, count);
        }
        """#
}
