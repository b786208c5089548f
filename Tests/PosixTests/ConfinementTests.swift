import CLinux
import Glibc
import Posix
import TestSupport
import Testing

/// A child that processes hostile bytes can change and reach nothing.
@Suite struct ConfinementTests {
    private func run(
        _ program: String, _ arguments: [String], memory: UInt = 256 << 20
    ) async throws -> (ending: ChildProcess.Ending, output: String) {
        var settings = ChildProcess.Settings(program, arguments)
        settings.confinement = Confinement(maxMemory: memory, maxSeconds: 1)
        let process = try await RunningProcess.start(settings)
        return (try await process.ending(), process.output)
    }

    private func shell(_ script: String) async throws -> (ending: ChildProcess.Ending, output: String) {
        try await run("/bin/sh", ["-c", script])
    }

    private func python(_ program: String) async throws -> String {
        try await run("/usr/bin/python3", ["-c", program]).output
    }

    @Test func aConfinedChildReadsPrograms() async throws {
        #expect(try await shell("read line </usr/bin/ldd; echo $line").output.hasPrefix("#!"))
        #expect(try await shell("exec /bin/echo word").output == "word\n")
    }

    /// The program names each attempt that succeeds.
    @Test func aHostileProgramGainsNothing() async throws {
        let hostile = try await HostileProgram.compile(in: TemporaryFolder(), as: "hostile")
        let outcome = try await run(hostile.path, [])
        #expect(outcome.output == "works\n")
        #expect(outcome.ending == .code(0))
        #expect(hostile.damage().isEmpty)
    }

    @Test(
        "it reads only files of programs",
        .disabled(if: chatfs_landlock_version() == 0, "this kernel has no Landlock"))
    func files() async throws {
        let folder = try TemporaryFolder()
        let path = try folder.write(Array("secret\n".utf8), to: "there")
        #expect(try await shell("read line <\(path) && echo $line").output == "")
        #expect(try await shell("read line </etc/passwd && echo $line").output == "")
        #expect(try await shell("read line </proc/self/stat && echo $line").output == "")
    }

    @Test func aConfinedChildGainsNoPrivileges() async throws {
        var settings = ChildProcess.Settings("/bin/sleep", ["100"])
        settings.confinement = Confinement(maxMemory: 256 << 20, maxSeconds: 1)
        let child = try await ChildProcess.start(settings)
        let bytes = try OpenFile("/proc/\(child.identifier)/status", flags: O_RDONLY).read(count: 8192, at: 0)
        let status = String(decoding: bytes, as: UTF8.self)
        #expect(status.contains("NoNewPrivs:\t1\n"))
        // At most CAP_DAC_READ_SEARCH.
        for word in ["CapPrm", "CapEff"] {
            #expect(
                status.contains("\(word):\t0000000000000000\n")
                    || status.contains("\(word):\t0000000000000004\n"))
        }
        #expect(getsid(child.identifier) == child.identifier)
    }

    @Test func aConfinedDaemonCannotTraceOrChangeTheKernel() async {
        await #expect(processExitsWith: .success) {
            // ptrace, mount, init_module, bpf, keyctl, io_uring_setup.
            #if arch(x86_64)
                let refused = [101, 165, 175, 321, 250, 425]
            #else
                let refused = [117, 40, 105, 280, 219, 425]
            #endif
            typealias SystemCall = @convention(c) (Int, Int, Int, Int, Int, Int) -> Int
            let call = unsafeBitCast(dlsym(nil, "syscall"), to: SystemCall.self)
            precondition(ProcessHardening.confineDaemon())
            for number in refused {
                errno = 0
                precondition(call(number, 0, 0, 0, 0, 0) == -1 && errno == EPERM, "\(number): \(errno)")
            }
        }
    }

    @Test func memoryIsLimited() async throws {
        #expect(
            try await python("try: bytearray(300 << 20)\nexcept MemoryError: print('no more')") == "no more\n"
        )
        #expect(try await python("b = bytearray(1 << 20); print(len(b))") == "1048576\n")
    }

    @Test func processorTimeIsLimited() async throws {
        #expect(try await shell("while :; do :; done").ending == .signal(SIGKILL))
    }
}
