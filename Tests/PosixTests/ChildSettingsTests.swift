import Base
import Glibc
import TestSupport
import Testing

@testable import Posix

@Suite("Settings and output of child processes")
struct ChildSettingsTests {
    @Test("it starts in its folder, which must exist")
    func folder() async throws {
        let folder = try TemporaryFolder()
        var settings = ChildProcess.Settings("/bin/pwd", ["-P"])
        settings.folder = folder.path
        let process = try await RunningProcess.start(settings)
        #expect(try await process.line("its folder") == folder.path)
        settings.folder = folder.path("none")
        let error = await #expect(throws: SystemError.self) { try await ChildProcess.start(settings) }
        #expect(error?.code == ENOENT)
    }

    @Test("without streams it reads and writes nothing")
    func null() async throws {
        var settings = ChildProcess.Settings("/bin/sh", ["-c", "cat; echo end"])
        settings.input = .null
        let process = try await RunningProcess.start(settings)
        #expect(try await process.ending() == .code(0))
        #expect(process.output == "end\n")
        var silent = ChildProcess.Settings("/bin/sh", ["-c", "echo a; echo b >&2"])
        silent.output = .null
        silent.errors = .null
        let child = try await ChildProcess.start(silent)
        #expect(child.output == nil && child.errors == nil && child.input == nil)
        #expect(await child.ending(within: .seconds(90)) == .code(0))
    }

    @Test("a file may replace one stream or two")
    func files() async throws {
        let folder = try TemporaryFolder()
        let file = try OpenFile(folder.path("out"), flags: O_WRONLY | O_CREAT | O_APPEND)
        var settings = ChildProcess.Settings("/bin/sh", ["-c", "cat; echo b >&2"])
        settings.input = .file(try OpenFile(try folder.write(Array("a\n".utf8), to: "in"), flags: O_RDONLY))
        settings.output = .file(file)
        settings.errors = .file(file)
        let child = try await ChildProcess.start(settings)
        #expect(await child.ending(within: .seconds(90)) == .code(0))
        #expect(try folder.read("out") == Array("a\nb\n".utf8))
    }

    @Test("its input is complete and ends with the descriptor")
    func input() async throws {
        var settings = ChildProcess.Settings("/bin/sh", ["-c", "wc -c"])
        settings.input = .pipe
        settings.output = .pipe
        let child = try await ChildProcess.start(settings)
        let input = try #require(child.input)
        try await ThreadPool.shared.run { () throws(SystemError) in
            try input.send([UInt8](repeating: 1, count: 300_000))
        }
        let null = try OpenFile("/dev/null", flags: O_RDONLY)
        dup2(null.descriptor, input.descriptor)
        let output = try #require(child.output)
        let said = try await ThreadPool.shared.run { () throws(SystemError) in
            try output.receiveAll(limit: 100)
        }
        #expect(String(decoding: said, as: UTF8.self) == "300000\n")
    }

    @Test("a blocking start has the same results")
    func blocking() async throws {
        let ending = try await ThreadPool.shared.run { () throws(SystemError) -> ChildProcess.Ending? in
            var settings = ChildProcess.Settings("/bin/sh", ["-c", "kill -9 $$"])
            settings.output = .null
            let child = try ChildProcess.startBlocking(settings)
            while true { if let ending = child.endingIfEnded() { return ending } }
        }
        #expect(ending == .signal(SIGKILL))
        await #expect(throws: SystemError(code: EACCES, operation: "start passwd")) {
            try await ThreadPool.shared.run { () throws(SystemError) in
                _ = try ChildProcess.startBlocking(.init("/etc/passwd"))
            }
        }
    }

    @Test("one permanent thread starts all children")
    func startingThread() async {
        let threads = await ThreadPool.shared.run {
            (0..<3).map { _ in ChildProcess.onStartingThread { pthread_self() } } + [pthread_self()]
        }
        #expect(Set(threads.prefix(3)).count == 1 && threads[3] != threads[0])
    }

    @Test("an ended child keeps its result and gets no signal")
    func afterTheEnd() async throws {
        var settings = ChildProcess.Settings("/bin/sh", ["-c", "exit 3"])
        settings.ownGroup = true
        let child = try await ChildProcess.start(settings)
        #expect(await child.ending(within: .seconds(90)) == .code(3))
        child.send(SIGKILL)
        child.sendToGroup(SIGKILL)
        #expect(child.endingIfEnded() == .code(3))
        #expect(await child.ending(within: .zero) == .code(3))
        #expect(errorCode { kill(child.identifier, 0) } == ESRCH)
    }

    @Test("signalling our own group traps")
    func noGroup() async {
        await #expect(processExitsWith: .failure) {
            let child = try await ChildProcess.start(.init("/bin/true"))
            child.sendToGroup(SIGKILL)
        }
    }

    @Test("a helper process has only its pipes")
    func conversing() {
        let settings = ChildProcess.Settings.conversing("watch")
        #expect(settings.executable == "/proc/self/exe" && settings.arguments == ["watch"])
        #expect(settings.folder == "/" && settings.ownGroup && settings.parentDeathSignal == SIGKILL)
        guard case .pipe = settings.input, case .pipe = settings.output, case .null = settings.errors else {
            Issue.record("other streams")
            return
        }
    }

    @Test("the last output is kept")
    func limitedOutput() async throws {
        let process = try await ObservedProcess.start(
            .init("/bin/sh", ["-c", "seq 1 100000; echo the end"]), keeping: 5000)
        #expect(await process.ending(within: .seconds(90)) == .code(0))
        #expect(process.outputBytes.count >= 5000 && process.outputBytes.count <= 10_000)
        #expect(process.output.hasSuffix("99999\n100000\nthe end\n"))
        #expect(process.lines.last == "the end" && process.errors == "")
    }

    @Test("waiting for a line ends with the child")
    func lines() async throws {
        let process = try await ObservedProcess.start(
            .init("/bin/sh", ["-c", "echo one; echo two; printf three"]))
        #expect(await process.line(within: .seconds(90)) { $0.hasPrefix("tw") } == "two")
        #expect(await process.line(within: .seconds(90)) { $0 == "three" } == nil)
        #expect(process.lines == ["one", "two"])
        #expect(await process.line(within: .zero) { $0 == "one" } == "one")
    }

    @Test("a stubborn child is killed with its group")
    func stubborn() async throws {
        let process = try await ObservedProcess.start(
            .init("/bin/sh", ["-c", "trap '' TERM; echo ready; while :; do sleep 1; done"]))
        try #require(await process.line(within: .seconds(90)) { $0 == "ready" } != nil)
        #expect(await process.stop(timeout: .milliseconds(20)) == .signal(SIGKILL))
        #expect(!process.isRunning)
        let willing = try await ObservedProcess.start(.init("/bin/sleep", ["1000"]))
        #expect(await willing.stop(timeout: .seconds(90)) == .signal(SIGTERM))
    }
}
