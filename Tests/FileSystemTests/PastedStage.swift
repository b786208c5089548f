import Base
import ChatCore
import FileSystem
import Glibc
import Namespace
import Outbox
import Posix
import TestSupport

/// A mount with folder archives, over a scripted core, a real outbox and a real index, and copies of its disk at a
/// kill.
final class PastedStage {
    private let folder: TemporaryFolder
    let core: ScriptedCore
    let archiver = NotedArchiver()
    let outbox: Outbox
    let names: Namespace
    let fileSystem: FileSystem
    private let pump: EventPump
    /// The folder of the chat with bob.
    let bob: NodeID

    /// Longer than any test.
    static let never = Duration.seconds(36_000)

    /// - Parameters:
    ///   - earlier: The folder of an earlier mount.
    ///   - quietTime: Quiet time of folders.
    ///   - sendingAfter: Quiet time of files.
    ///   - hasBob: False if the chat with bob is gone.
    ///   - refusal: The core's reply to every send.
    init(
        on earlier: TemporaryFolder? = nil, policy: FolderPolicy = .archive, quietTime: Duration = never,
        sendingAfter: Duration = never, hasBob: Bool = true, refusal: ChatError? = nil
    ) async throws {
        folder = try earlier ?? TemporaryFolder()
        if earlier == nil { _ = try folder.makeFolder("data") }
        if access(folder.path("staging"), F_OK) != 0 { _ = try folder.makeFolder("staging") }
        let bob = Chat(
            reference: FileSystemFixture.bob, displayName: "bob", updatedAt: Timestamp(seconds: 1))
        let silent = Chat(
            reference: FileSystemFixture.silent, displayName: "quiet", updatedAt: Timestamp(seconds: 1),
            sendingRefused: "This group takes no files.")
        core = ScriptedCore(
            stagingFolder: folder.path("staging"), chats: hasBob ? [bob, silent] : [silent])
        core.state.withLock { $0.refusal = refusal }
        outbox = try Outbox(
            core: core, folder: PrivateFolder(folder.path("data/outbox"), purpose: "outbox"),
            quietTime: sendingAfter)
        names = try Namespace(path: folder.path("data/names.sqlite"))
        var settings = FileSystemSettings(
            cacheDisk: try OpenFile(folder.path, flags: O_RDONLY), mountpoint: "/mnt")
        (settings.folders, settings.folderArchiver) = (policy, archiver)
        settings.folderQuietTime = quietTime
        fileSystem = FileSystem(
            names: names, contents: MemoryContents(), outbox: outbox, core: core, settings: settings)
        pump = try await fileSystem.begin()
        self.bob = names.node(of: FileSystemFixture.bob)?.id ?? .root
        await fileSystem.showEverything()
    }

    /// A mount on a copy of the disk, as after a kill now.
    func killed(
        quietTime: Duration = never, sendingAfter: Duration = never, hasBob: Bool = true,
        refusal: ChatError? = nil
    ) async throws -> PastedStage {
        let copy = try TemporaryFolder()
        let outcome = try await Shell.run("cp", ["-a", folder.path("data"), copy.path("data")])
        guard outcome.succeeded else { throw WaitedInVain(outcome.errors) }
        return try await PastedStage(
            on: copy, quietTime: quietTime, sendingAfter: sendingAfter, hasBob: hasBob, refusal: refusal)
    }

    /// Copies the disk while an archive of `count` entries is written, on the writing thread. Smaller archives fail.
    /// Called before the first archive.
    func copyWhenArchiving(_ count: Int) -> Lock<TemporaryFolder?> {
        let left = Lock<TemporaryFolder?>(nil)
        archiver.whenBegun { [folder] paths in
            guard paths.count >= count else { throw FileSystemError(EIO) }
            guard left.withLock({ $0 == nil }) else { return }
            let copy = try TemporaryFolder()
            try Self.copy(folder.path("data"), to: copy.path("data"))
            left.withLock { $0 = copy }
        }
        return left
    }

    /// The next mount after a kill at that moment.
    static func mounted(
        on left: Lock<TemporaryFolder?>, quietTime: Duration = never, hasBob: Bool = true
    ) async throws -> PastedStage {
        try await wait(until: "the archive of all of it is begun") { left.withLock { $0 != nil } }
        return try await PastedStage(on: left.withLock { $0 }, quietTime: quietTime, hasBob: hasBob)
    }

    private static func copy(_ source: String, to target: String) throws {
        try check("make a folder") { mkdir(target, 0o700) }
        let folder = try OpenFile(source, flags: O_RDONLY)
        for entry in try PrivateFolder.names(in: folder) {
            let file = try OpenFile(entry, flags: O_RDONLY, in: folder)
            guard try file.status().st_mode & S_IFMT != S_IFDIR else {
                try copy(source + "/" + entry, to: target + "/" + entry)
                continue
            }
            let copy = try OpenFile(target + "/" + entry, flags: O_WRONLY | O_CREAT | O_EXCL)
            try copy.write(try file.read(count: Int(try file.size()), at: 0), at: 0)
        }
    }

    /// Ends the mount without sending.
    func end() async {
        archiver.release()
        fileSystem.close()
        outbox.close()
        withExtendedLifetime(pump) {}
    }

    // MARK: - Requests of programs

    /// Returns the node at a path below bob's folder, or nil.
    func node(_ path: String, below top: NodeID? = nil) async -> NodeID? {
        var node = top ?? bob
        for name in path.split(separator: "/") {
            guard let next = try? await fileSystem.lookup(EntryName(String(name)), in: node).value()
            else { return nil }
            node = next.id
        }
        return node
    }

    func id(_ path: String) async throws -> NodeID {
        guard let id = await node(path) else { throw FileSystemError(ENOENT) }
        return id
    }

    private func place(_ path: String) async throws -> (folder: NodeID, name: EntryName) {
        let names = path.split(separator: "/").map(String.init)
        let folder = try await id(names.dropLast().joined(separator: "/"))
        return (folder, EntryName(names[names.count - 1]))
    }

    /// Calls mkdir(2). Returns 0 or the errno.
    @discardableResult
    func makeFolder(_ path: String) async throws -> Int32 {
        let (folder, name) = try await place(path)
        return await fileSystem.makeFolder(name, in: folder).code()
    }

    func create(_ path: String, flags: Int32 = O_WRONLY | O_CREAT) async throws -> FileHandle {
        let (folder, name) = try await place(path)
        return try await fileSystem.create(name, in: folder, flags: flags).value().1
    }

    func write(_ text: String, through handle: FileHandle, at offset: UInt64 = 0) throws {
        _ = try Array(text.utf8).withUnsafeBytes {
            try fileSystem.write(handle, $0, at: offset, by: getpid()).get()
        }
    }

    /// Creates and closes a file with this text.
    func write(_ text: String, to path: String) async throws {
        let handle = try await create(path)
        try write(text, through: handle)
        fileSystem.flush(handle, by: getpid())
        fileSystem.release(handle)
    }

    func rename(_ path: String, to other: String, flags: UInt32 = 0) async throws -> Int32 {
        let (from, to) = (try await place(path), try await place(other))
        return await fileSystem.rename(from.name, in: from.folder, to: to.name, in: to.folder, flags: flags)
            .code()
    }

    func unlink(_ path: String) async throws -> Int32 {
        let (folder, name) = try await place(path)
        return await fileSystem.unlink(name, in: folder).code()
    }

    func removeFolder(_ path: String) async throws -> Int32 {
        let (folder, name) = try await place(path)
        return await fileSystem.removeFolder(name, in: folder).code()
    }

    /// Returns the sorted names of a folder.
    func list(_ path: String) async throws -> [String] {
        let id = try await id(path)
        _ = await fileSystem.prepare(id).code()
        return fileSystem.entries(id).map(\.name.description).sorted()
    }

    func recovered() async -> [String] {
        fileSystem.entries(.recovered).map(\.name.description).sorted()
    }

    func read(_ id: NodeID, count: Int = 100) async throws -> String {
        let handle = try await fileSystem.open(id, flags: O_RDONLY).value()
        defer { fileSystem.release(handle) }
        let buffer = ReadBuffer(.allocate(byteCount: count, alignment: 16))
        defer { buffer.bytes.deallocate() }
        guard case .filled(let filled) = fileSystem.read(handle, at: 0, into: buffer.bytes) else {
            throw FileSystemError(EIO)
        }
        return String(decoding: buffer.bytes[..<filled], as: UTF8.self)
    }

    func attribute(_ name: String, of path: String) async -> String? {
        guard let id = await node(path),
            let value = try? await fileSystem.extendedAttribute(name, of: id).value()
        else { return nil }
        return String(decoding: value, as: UTF8.self)
    }

    /// The reason that a folder is not sent; nil if it will be.
    func problem(_ path: String) async -> String? { await attribute("user.chatfs.error", of: path) }

    /// Names of all drafts in the journal's order.
    var drafts: [String] {
        outbox.drafts().map { String(decoding: $0.snapshot.name, as: UTF8.self) }
    }
}

/// Records archives, writes one byte per entry, and can be stopped in the middle.
final class NotedArchiver: FolderArchiving {
    private struct State {
        var archived: [[String]] = []
        var isHeld = false
        var whenBegun: @Sendable ([String]) throws -> Void = { _ in }
    }

    private let state = Lock(State())

    /// The paths of each begun archive.
    var archived: [[String]] { state.withLock { $0.archived } }
    /// Sets a callback for the first bytes of an archive; its error ends the archive.
    func whenBegun(_ body: @escaping @Sendable ([String]) throws -> Void) {
        state.withLock { $0.whenBegun = body }
    }
    func hold() { state.withLock { $0.isHeld = true } }
    func release() { state.withLock { $0.isHeld = false } }

    func archive(_ entries: [FolderEntry], write: @escaping (UnsafeRawBufferPointer) throws -> Void) throws {
        let paths = entries.map { String(decoding: $0.path, as: UTF8.self) }
        state.withLock { $0.archived.append(paths) }
        try Array("begun ".utf8).withUnsafeBytes { try write($0) }
        try state.withLock { $0.whenBegun }(paths)
        while state.withLock({ $0.isHeld }) {
            usleep(2000)
            // Checks whether the archive is still current.
            try write(UnsafeRawBufferPointer(start: nil, count: 0))
        }
        try Array(paths.sorted().joined(separator: " ").utf8).withUnsafeBytes { try write($0) }
    }
}
