import Base
import ChatCore
import Desktop
import FileSystem
import Fuse
import Glibc
import Hydration
import Media
import Namespace
import Outbox
import Posix

/// The parts that answer kernel requests: names, reading, writing, and the file system above them.
struct MountParts: Sendable {
    let core: MountedCore
    let settings: MountSettings
    let outbox: Outbox
    let hydrator: Hydrator
    let cache: PrivateFolder
    let traces: DesktopTraces?
    let programSocket: ProgramSocket
    let fileSystem: FileSystem
    /// Counts the kernel's requests.
    let requests = RequestMetrics()

    /// Opens the parts in the profile's directory. Shows and sends nothing yet.
    init(_ opened: MountedCore, _ settings: MountSettings) async throws {
        let (core, own, key) = (opened.core, opened.folder, opened.key)
        let preparation = settings.preparation
        let (names, outbox, cache, remembered) = try await ThreadPool.shared.run {
            (
                try Namespace(path: own + "/names.sqlite", key: key),
                try Outbox(
                    core: core, folder: try PrivateFolder(own + "/outbox", purpose: Outbox.purpose),
                    key: key,
                    quietTime: settings.quietTime, writers: settings.writers,
                    completion: { message throws(ChatError) in try await preparation.completed(message) }),
                try PrivateFolder(settings.cacheFolder(profile: core.profile.id), purpose: "chatfs cache"),
                try RetentionList(in: OpenFile(own, flags: O_RDONLY))
            )
        }
        self.core = opened
        self.settings = settings
        self.outbox = outbox
        self.cache = cache
        hydrator = try await ThreadPool.shared.run {
            try Hydrator(
                core: core, client: opened.client, cacheFolder: cache, settings: settings.hydration,
                retention: remembered)
        }
        traces = await ThreadPool.shared.run { DesktopTraces.open(names, mountpoint: settings.mountpoint) }
        traces?.beginSweeping()
        programSocket = try ProgramSocket(
            runtimeFolder: getenv("XDG_RUNTIME_DIR").map { String(cString: $0) }, profileFolder: own)
        var files = FileSystemSettings(
            deletion: settings.deletion, cacheDisk: cache.directory, mountpoint: settings.mountpoint,
            controlFolder: own)
        files.callers = settings.callers
        files.typeNames = await ThreadPool.shared.run { TypeNames.ofDesktop() }
        files.lookAtProgram = FolderViewers(mountpoint: settings.mountpoint).look(at:_:)
        files.recognisePicture = PictureType.type(start:)
        files.desktop = traces?.desktop
        if settings.previews.offersThoseOfMessages { files.thumbnailMaker = ThumbnailMaker() }
        files.entryPermissions = settings.entryPermissions
        files.folders = settings.folderArchiver == nil ? .refuse : settings.folders
        if files.folders != settings.folders {
            Log("mount").notice("folders not sent: libarchive missing (package libarchive13)")
        }
        files.folderArchiver = settings.folderArchiver
        files.folderQuietTime = max(settings.quietTime * 5, .seconds(1))
        files.programSocket = programSocket.path
        fileSystem = FileSystem(
            names: names, contents: hydrator, outbox: outbox, core: core, settings: files)
    }

    /// Directory of the plain cache; nil in other modes.
    var plainFiles: OpenFile? { settings.hydration.cacheMode == .plain ? cache.directory : nil }

    /// Removes the cache and closes the index, after everything else has ended. Blocks.
    func close() {
        do {
            try cache.remove()
        } catch {
            Log("mount").warning(
                "cache left for the next mount: error=\(sentenceWithCauses(of: error))")
        }
        fileSystem.close()
    }

    /// Ends the parts after a failed mount; the cache is empty.
    func abandon() async {
        await outbox.shutDown()
        await hydrator.shutDown()
        await ThreadPool.shared.run { close() }
    }
}
