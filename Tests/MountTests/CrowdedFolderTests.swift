import ChatCore
import EmbeddedCore
import Glibc
import Posix
import TestSupport
import Testing

@Suite("Watched folders with many files", .serialized)
struct CrowdedFolderTests {
    private let folder: TemporaryFolder
    private let mount: RunningProcess
    private let writer: LongHistory
    private let chats: [ChatReference]

    init() async throws {
        folder = try TemporaryFolder()
        _ = try folder.makeFolder("mount")
        writer = try LongHistory(
            in: DataDirectory(folder.path("data")), reader: "reader", sender: "sender")
        chats = try writer.write(chatsOf: [10, 10])
        let (data, cache) = (folder.path("data"), folder.path("cache"))
        mount = try await ChatFSProcess.start(
            ["mount", folder.path("mount"), "--profile", "reader", "--data", data, "--cache-dir", cache])
        try await mount.line("that it is mounted") { $0.contains("is mounted at") }
    }

    @Test("watchers see each of ten thousand arrivals")
    func burst() async throws {
        let count = 10_000
        let watch = try await FolderWatch.start(folder.path("mount/chat 0"))
        let other = try await FolderWatch.start(folder.path("mount/chat 1"))
        #expect(try folder.names(in: "mount/chat 0").count == 10)
        let names = (0..<count).map { "new \($0).bin" }
        for start in stride(from: 0, to: count, by: 1000) {
            try writer.deliver(Array(names[start..<start + 1000]), in: chats[0])
        }
        try writer.deliver("elsewhere.bin", in: chats[1])
        try await wait(until: "all are listed", within: .seconds(120)) {
            try folder.names(in: "mount/chat 0").count == count + 10
        }
        try await other.waitFor("CREATE elsewhere.bin", within: .seconds(120))
        // Each file is reported, or an overflow of the kernel's or our queue.
        try await wait(until: "all are told", within: .seconds(120)) {
            let told = Set(
                watch.events.compactMap { $0.split(separator: " ", maxSplits: 1).last.map(String.init) })
            return told.isSuperset(of: names) || watch.events.contains { $0.hasPrefix("OVERFLOW") }
        }
        #expect(try await mount.terminate() == .code(0))
    }

    @Test("deletions continue despite waiting readers")
    func deletions() async throws {
        let (count, rounds) = (1000, 100)
        try writer.deliver((0..<count).map { "new \($0).bin" }, in: chats[0])
        try await wait(until: "all are listed") { try folder.names(in: "mount/chat 0").count == count + 10 }
        let watch = try await FolderWatch.start(folder.path("mount/chat 0"))
        // The relay of these files is unreachable, so reads wait until the files are deleted.
        var settings = ChildProcess.Settings(try Shell.find("python3"))
        settings.arguments = [
            "-c",
            """
            import os, sys, threading
            folder = sys.argv[1]
            names = [name for name in os.listdir(folder) if name.startswith("new")]
            def read(name):
                try:
                    with open(f"{folder}/{name}", "rb") as file: file.read(1)
                except OSError: pass
            def look():
                while any(name.startswith("new") for name in os.listdir(folder)):
                    for name in names[::50]:
                        try: os.stat(f"{folder}/{name}")
                        except OSError: pass
            threads = [threading.Thread(target=read, args=(name,)) for name in names[:100]]
            threads += [threading.Thread(target=look) for _ in range(4)]
            for thread in threads: thread.start()
            print("reading", flush=True)
            for thread in threads: thread.join()
            """,
            folder.path("mount/chat 0"),
        ]
        let readers = try await RunningProcess.start(settings)
        try await readers.line("that it reads") { $0 == "reading" }
        for _ in 0..<rounds { try writer.withdraw(count / rounds, in: chats[0]) }
        try await wait(until: "all are gone", within: .seconds(60)) {
            try folder.names(in: "mount/chat 0").count == 10
        }
        try await wait(until: "all are told", within: .seconds(60)) { watch.count("DELETE") == count }
        #expect(try await readers.ending() == .code(0), "\(readers.errors)")
        #expect(try await mount.terminate() == .code(0))
    }
}
