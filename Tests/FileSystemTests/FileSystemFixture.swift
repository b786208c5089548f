import Base
import ChatCore
import FileSystem
import Glibc
import Namespace
import Outbox
import Posix
import TestSupport
import Thumbnails

/// A file system over a scripted core and contents in memory, with a real index and a real outbox, or with drafts in
/// memory.
final class FileSystemFixture {
    let folder: TemporaryFolder
    let core: ScriptedCore
    let contents = MemoryContents()
    /// nil with drafts in memory.
    let outbox: Outbox?
    private let drafts: MemoryDrafts?
    let fileSystem: FileSystem
    let pump: EventPump

    static let bob = ChatReference.direct(1)
    static let silent = ChatReference.group(2)

    static func make(
        deletion: DeletionPolicy = .refused, quietTime: Duration = .milliseconds(50),
        readDeadline: Duration = .seconds(60), itemsInMemory: Int? = nil, itemsLoadedAhead: Int = 0,
        showsEverything: Bool = true,
        clock: any OutboxClock = SystemOutboxClock(), drafts: MemoryDrafts? = nil,
        callers: CallerPolicy = CallerPolicy(), opener: Caller? = nil, traits: ProgramTraits? = nil,
        thumbnails: (any ThumbnailMaking)? = nil,
        pictures: RecognisedPictures? = nil, changeTimeout: Duration = .seconds(60),
        items: (ScriptedCore) -> Void = { _ in }
    ) async throws -> FileSystemFixture {
        let folder = try TemporaryFolder()
        let staging = try folder.makeFolder("staging")
        let core = ScriptedCore(
            stagingFolder: staging,
            chats: [
                Chat(reference: bob, displayName: "bob", updatedAt: Timestamp(seconds: 1)),
                Chat(
                    reference: silent, displayName: "quiet", updatedAt: Timestamp(seconds: 1),
                    sendingRefused: "This group takes no files."),
            ])
        items(core)
        let fixture = try await FileSystemFixture(
            folder, core, deletion, quietTime, readDeadline, clock, drafts, itemsInMemory: itemsInMemory,
            itemsLoadedAhead: itemsLoadedAhead, callers: callers, opener: opener, traits: traits,
            thumbnails: thumbnails, pictures: pictures, changeTimeout: changeTimeout)
        if showsEverything { await fixture.fileSystem.showEverything() }
        return fixture
    }

    /// Uses a folder that an earlier mount may have used.
    init(
        _ folder: TemporaryFolder, _ core: ScriptedCore, _ deletion: DeletionPolicy, _ quietTime: Duration,
        _ readDeadline: Duration, _ clock: any OutboxClock = SystemOutboxClock(),
        _ drafts: MemoryDrafts? = nil, itemsInMemory: Int? = nil, itemsLoadedAhead: Int = 0,
        callers: CallerPolicy = CallerPolicy(), opener: Caller? = nil, traits: ProgramTraits? = nil,
        thumbnails: (any ThumbnailMaking)? = nil,
        pictures: RecognisedPictures? = nil, changeTimeout: Duration = .seconds(60)
    ) async throws {
        self.folder = folder
        self.core = core
        self.drafts = drafts
        let outbox =
            drafts != nil
            ? nil
            : try Outbox(
                core: core, folder: try PrivateFolder(folder.path("outbox"), purpose: "outbox"),
                quietTime: quietTime, clock: clock)
        self.outbox = outbox
        guard let store: any DraftStore = drafts ?? outbox else { throw FileSystemError(EIO) }
        var settings = FileSystemSettings(
            readDeadline: readDeadline, deletion: deletion,
            cacheDisk: try OpenFile(folder.path, flags: O_RDONLY), mountpoint: "/mnt")
        settings.callers = callers
        if let opener { settings.identifyCaller = { _ in opener } }
        settings.lookAtProgram = { _, _ in traits }
        settings.callerTimeout = .seconds(60)
        settings.changeTimeout = changeTimeout
        if let pictures { settings.recognisePicture = { pictures.recognise($0) } }
        if let itemsInMemory { settings.itemsInMemory = itemsInMemory }
        settings.itemsLoadedAhead = itemsLoadedAhead
        if let thumbnails {
            settings.thumbnailMaker = thumbnails
            settings.desktop = DesktopThumbnails(
                try ThumbnailFolder(path: folder.path("thumbnails"), mountpoint: "/mnt"))
        }
        fileSystem = FileSystem(
            names: try Namespace(path: folder.path("names.sqlite")), contents: contents, outbox: store,
            core: core, settings: settings)
        pump = try await fileSystem.begin()
        outbox?.start()
    }

    /// Ends the mount.
    func end() async {
        await outbox?.shutDown()
        drafts?.end()
        await pump.finish()
        fileSystem.close()
    }

    // MARK: - Requests of programs

    /// Returns the node at a path such as `bob/a.txt`, or the error.
    func find(_ path: String) -> Result<NodeID, FileSystemError> {
        path.split(separator: "/").reduce(.success(.root)) { folder, name in
            folder.flatMap { folder in
                // Everything is loaded, so no lookup waits.
                guard case .now(let found) = fileSystem.lookup(EntryName(String(name)), in: folder) else {
                    return .failure(FileSystemError(EAGAIN))
                }
                return found.map(\.id)
            }
        }
    }

    func id(_ path: String) throws -> NodeID { try find(path).get() }
    func attributes(_ path: String) throws -> Attributes { try fileSystem.attributes(id(path)).get() }

    func attribute(_ name: String, of path: String) throws -> String? {
        guard case .now(.success(let value)) = fileSystem.extendedAttribute(name, of: try id(path)) else {
            return nil
        }
        return String(decoding: value, as: UTF8.self)
    }

    /// Creates a file with these bytes and closes it.
    func write(_ bytes: [UInt8], to name: String) async throws {
        let (_, handle) = try await fileSystem.create(
            EntryName(name), in: id("bob"), flags: O_WRONLY | O_CREAT
        ).value()
        _ = try bytes.withUnsafeBytes { try fileSystem.write(handle, $0, at: 0, by: getpid()).get() }
        fileSystem.release(handle)
    }

    /// Reads through its own handle.
    func read(_ path: String, at offset: UInt64 = 0, count: Int) async throws -> [UInt8] {
        let handle = try await fileSystem.open(id(path), flags: O_RDONLY).value()
        defer { fileSystem.release(handle) }
        return try await read(handle, at: offset, count: count)
    }

    func read(_ handle: FileHandle, at offset: UInt64, count: Int) async throws -> [UInt8] {
        let buffer = ReadBuffer(.allocate(byteCount: count, alignment: 16))
        defer { buffer.bytes.deallocate() }
        let filled: Int
        switch fileSystem.read(handle, at: offset, into: buffer.bytes) {
        case .filled(let count): filled = count
        case .ready(let ready): return Array(ready.bytes)
        case .failed(let error): throw error
        case .later(let work): filled = try await work(buffer).get()
        }
        return Array(buffer.bytes[..<filled])
    }
}

extension FileOperations {
    /// Opens as a thread of this process.
    func open(_ id: NodeID, flags: Int32) -> Answer<FileHandle> { open(id, flags: flags, by: getpid()) }

    func create(
        _ name: EntryName, in folder: NodeID, flags: Int32
    ) -> Answer<(Attributes, FileHandle)> { create(name, in: folder, flags: flags, by: getpid()) }
}

extension FileSystem {
    /// Loads the files of all chats.
    func showEverything() async {
        for node in entries(.root) where node.isFolder {
            // Retries, because the test's deadline may be short.
            while await prepare(node.id).code() == ETIMEDOUT {}
        }
    }

    /// Returns the entries of a folder in memory.
    func entries(_ folder: NodeID) -> [Node] { list(folder, after: nil, count: 10_000) ?? [] }
}

extension Answer {
    /// Returns an immediate answer.
    func get() throws -> Value {
        guard case .now(let result) = self else { throw FileSystemError(EAGAIN) }
        return try result.get()
    }

    func value() async throws -> Value {
        switch self {
        case .now(let result): try result.get()
        case .later(let work): try await work().get()
        }
    }

    /// Returns the errno, 0 for success.
    func code() async -> Int32 {
        do {
            _ = try await value()
            return 0
        } catch {
            return (error as? FileSystemError)?.code ?? -1
        }
    }
}

func code(of body: () async throws -> Void) async -> Int32 {
    do {
        try await body()
        return 0
    } catch {
        return (error as? FileSystemError)?.code ?? -1
    }
}
