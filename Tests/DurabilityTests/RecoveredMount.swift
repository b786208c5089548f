import Base
import ChatCore
import EmbeddedCore
import FileSystem
import Glibc
import Hydration
import Links
import Namespace
import Posix

@testable import Outbox

/// A profile after a power cut with all parts of a mount except the kernel's, started in the order of a mount
/// (`MountedProfile`) and in another boot of the machine.
struct RecoveredMount {
    let core: EmbeddedCore
    let outbox: Outbox
    private let links: LinkedCore
    private let hydrator: Hydrator
    private let cache: PrivateFolder
    private let fileSystem: FileSystem
    private let pump: EventPump

    static func open(_ profile: String, in folder: String) async throws -> RecoveredMount {
        let core = try await EmbeddedCore.open(DataDirectory(folder), profile: profile)
        do {
            return try await RecoveredMount(core, cacheFolder: "\(folder).\(profile).cache")
        } catch {
            await core.shutDown()
            throw error
        }
    }

    private init(_ core: EmbeddedCore, cacheFolder: String) async throws {
        self.core = core
        links = LinkedCore(core, folder: core.folder, client: core.client, approve: { _ in })
        let names = try Namespace(path: core.folder + "/names.sqlite")
        outbox = try Outbox(
            core: links, folder: PrivateFolder(core.folder + "/outbox", purpose: Outbox.purpose),
            quietTime: .milliseconds(1), clock: SystemOutboxClock(), wallClock: SystemWallClock(),
            boot: "after the cut", step: { _ in })
        cache = try PrivateFolder(cacheFolder, purpose: "chatfs cache")
        hydrator = try Hydrator(
            core: links, client: core.client, cacheFolder: cache,
            retention: RetentionList(in: OpenFile(core.folder, flags: O_RDONLY)))
        fileSystem = FileSystem(
            names: names, contents: hydrator, outbox: outbox, core: links,
            settings: FileSystemSettings(
                readDeadline: .seconds(20), cacheDisk: cache.directory, mountpoint: "/mnt"))
        pump = try await fileSystem.begin()
        outbox.start()
    }

    func shutDown() async throws {
        await hydrator.shutDown()
        fileSystem.releaseAll()
        await outbox.shutDown()
        await pump.finish()
        try cache.remove()
        fileSystem.close()
        await links.close()
        await core.shutDown()
    }

    // MARK: - Contents

    /// The files of all chats, and recovered ones.
    func files() async throws -> [Node] {
        var files: [Node] = []
        let folders = (fileSystem.list(.root, after: nil, count: 1000) ?? []).filter(\.isFolder).map(\.id)
        for folder in folders + [.recovered] {
            try await fileSystem.prepare(folder).result().get()
            files += (fileSystem.list(folder, after: nil, count: 1000) ?? []).filter { !$0.isFolder }
        }
        return files
    }

    /// Returns the item of a file that is not a draft.
    func item(_ file: Node) async -> ChatItem? { try? await fileSystem.item(at: file.id) }

    /// Returns the bytes for a program that reads a whole file in pieces.
    func read(_ file: Node) async throws(FileSystemError) -> [UInt8] {
        let handle = try await fileSystem.open(file.id, flags: O_RDONLY, by: 0).result().get()
        defer { fileSystem.release(handle) }
        let buffer = ReadBuffer(.allocate(byteCount: 100_000, alignment: 16))
        defer { buffer.bytes.deallocate() }
        var bytes: [UInt8] = []
        while true {
            let count: Int
            switch fileSystem.read(handle, at: UInt64(bytes.count), into: buffer.bytes) {
            case .filled(let filled):
                count = filled
                bytes += buffer.bytes[..<count]
            case .ready(let ready):
                count = ready.bytes.count
                bytes += ready.bytes
            case .failed(let error): throw error
            case .later(let work):
                count = try await work(buffer).get()
                bytes += buffer.bytes[..<count]
            }
            if count < buffer.bytes.count { return bytes }
        }
    }
}
