import Glibc
import Posix
import TestSupport
import Testing

@testable import Desktop

/// Processes that keep a folder busy. The search equals that for a mount: it queries the kernel, not the folder.
@Suite struct MountHolderTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        try check("make a folder") { mkdir(folder.path("mount"), 0o700) }
        try check("make a folder") { mkdir(folder.path("mount/a chat"), 0o700) }
        try check("make a folder") { mkdir(folder.path("mount2"), 0o700) }
        try folder.write([UInt8](repeating: 65, count: 5000), to: "mount/a chat/open file.txt")
    }

    private func holders() async -> [MountHolder] {
        await ThreadPool.shared.run { [folder] in MountHolder.all(of: folder.path("mount")) }
    }

    private func expectHolder(_ script: String, in place: String, uses: [String]) async throws {
        var settings = ChildProcess.Settings(
            try Shell.find("python3"), ["-c", script + "\nprint('ready',flush=True)\ninput()"])
        settings.folder = folder.path(place)
        settings.input = .pipe
        let process = try await RunningProcess.start(settings)
        try await process.line("ready") { $0 == "ready" }
        let holder = try #require(await holders().first { $0.process == process.processIdentifier })
        #expect(holder.uses == uses)
        #expect(holder.name.hasPrefix("python3"))
        #expect(holder.text.hasPrefix("python3") && holder.text.utf8.contains(uses[0].utf8))
        process.send(SIGKILL)
        try await process.ending()
        #expect(await holders().allSatisfy { $0.process != process.processIdentifier })
    }

    @Test func workingFolderHoldsMount() async throws {
        try await expectHolder("", in: "mount/a chat", uses: ["a chat"])
        try await expectHolder("", in: "mount", uses: ["."])
    }

    @Test func accentedFolderHoldsMount() async throws {
        let name = "\u{301}a"
        _ = try folder.makeFolder("mount/\(name)")
        try await expectHolder("", in: "mount/\(name)", uses: [name])
    }

    @Test func openFileHoldsMount() async throws {
        try await expectHolder(
            "f = open('mount/a chat/open file.txt')", in: ".", uses: ["a chat/open file.txt"])
    }

    @Test func closedMappedFileHoldsMount() async throws {
        try await expectHolder(
            """
            import ctypes, os
            d = os.open('mount/a chat/open file.txt', os.O_RDONLY)
            libc = ctypes.CDLL(None, use_errno=True)
            libc.mmap.restype = ctypes.c_void_p
            assert libc.mmap(None, 4096, 1, 1, d, 0) not in (None, ctypes.c_void_p(-1).value)
            os.close(d)
            """, in: ".", uses: ["a chat/open file.txt"])
    }

    @Test func similarFolderDoesNotHoldMount() async throws {
        var settings = ChildProcess.Settings("/bin/sleep", ["60"])
        settings.folder = folder.path("mount2")
        let child = try await ChildProcess.start(settings)
        #expect(await holders().allSatisfy { $0.process != child.identifier })
    }

    @Test func emptyFolderIsNoMount() async throws {
        let error = #expect(throws: DesktopError.self) { try Mounted.at(folder.path("mount")) }
        #expect(error?.code == .notMounted)
    }
}
