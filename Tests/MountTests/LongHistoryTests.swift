import EmbeddedCore
import Glibc
import Posix
import TestSupport
import Testing

@Suite("A mount of many chats", .serialized)
struct LongHistoryTests {
    private let folder: TemporaryFolder
    private let mount: RunningProcess

    private static let chats = 30
    private static let filesInEach = 40

    init() async throws {
        folder = try TemporaryFolder()
        _ = try folder.makeFolder("mount")
        let writer = try LongHistory(
            in: DataDirectory(folder.path("data")), reader: "reader", sender: "sender")
        _ = try writer.write(chatsOf: (0..<Self.chats).map { _ in Self.filesInEach })
        let (data, cache) = (folder.path("data"), folder.path("cache"))
        mount = try await ChatFSProcess.start(
            ["mount", folder.path("mount"), "--profile", "reader", "--data", data, "--cache-dir", cache])
        let path = folder.path("mount")
        try await wait(until: "it is mounted", within: .seconds(60)) {
            try MountTable.mounts(below: path).contains { $0.type == "fuse.chatfs" }
        }
    }

    private func paths() throws -> [String] {
        try (0..<Self.chats).flatMap { chat in
            try folder.names(in: "mount/chat \(chat)").sorted().map {
                folder.path("mount/chat \(chat)/\($0)")
            }
        }
    }

    private func inodes(_ paths: [String]) throws -> [UInt] {
        try paths.map { path in
            var status = stat()
            try check("look at a file") { lstat(path, &status) }
            return status.st_ino
        }
    }

    /// A number of `status.json`.
    private func figure(_ name: String) throws -> Int? {
        let text = String(decoding: try folder.read("mount/.chatfs/status.json"), as: UTF8.self)
        let line = text.split(separator: "\n").first { $0.contains("\"\(name)\"") }
        return line.flatMap { Int($0.filter(\.isNumber)) }
    }

    @Test("chats are loaded ahead and evicted again")
    func letGo() async throws {
        #expect(try figure("entries") == Self.chats * Self.filesInEach)
        try await wait(until: "all is loaded ahead", within: .seconds(60)) {
            try figure("entriesInMemory") == Self.chats * Self.filesInEach
        }
        let paths = try paths()
        let before = try inodes(paths)
        #expect(try figure("entriesInMemory") == Self.chats * Self.filesInEach)
        #expect(Set(before).count == paths.count)
        let opened = try OpenFile(paths[0], flags: O_RDONLY)
        // Drops unused names and inodes, like a machine short of memory.
        guard let caches = try? OpenFile("/proc/sys/vm/drop_caches", flags: O_WRONLY) else { return }
        try await wait(until: "what was forgotten is let go", within: .seconds(30)) {
            try caches.write(Array("2\n".utf8), at: 0)
            return try figure("entriesInMemory") ?? .max <= Self.filesInEach
        }
        #expect(try opened.status().st_ino == before[0])
        #expect(try inodes(paths) == before)
        mount.send(SIGTERM)
        #expect(try await mount.ending(within: .seconds(30)) == .code(0))
    }
}
