import Archive
import Base
import CLinux
import ChatCore
import CommandLineKit
import EmbeddedCore
import Glibc
import OfficialCore
import Posix

/// `chatfs export` and `chatfs import` with an official core: SimpleX's own archive format.
struct OfficialArchive: Sendable {
    private let choice: OfficialCoreChoice
    /// Path of the data directory with ChatFS's data about the core.
    private let dataPath: String

    /// Returns nil without `--core`.
    init?(_ invocation: Invocation) throws {
        guard let choice = try OfficialCoreChoice(invocation) else { return nil }
        self.choice = choice
        dataPath = invocation.dataPath
    }

    /// - Throws: `UsageError` for an option of ChatFS's own archives.
    static func refuse(
        _ options: [any OptionDeclaration], _ invocation: Invocation
    ) throws(UsageError) {
        guard let option = options.first(where: invocation.isGiven) else { return }
        throw UsageError("--\(option.name) is for ChatFS's own core: --core uses SimpleX's archive format")
    }

    /// Maximum time for an interrupted command to resume or end the core.
    static let grace = Duration.seconds(45)

    // MARK: - Writing

    func write(to path: String) async throws {
        try choice.checkFilesFolder()
        try await ThreadPool.shared.run { try naming(path) { try NewFile.requireFree(path) } }
        let workplace = try await ThreadPool.shared.run { try Workplace(beside: path, for: "export") }
        do {
            let problems = try await use(named: nil) { archive, settings in
                let problems = try await archive.write(
                    to: workplace.file("archive"), temporary: workplace.path)
                warn(settings)
                return problems
            }
            try await ThreadPool.shared.run { try naming(path) { try workplace.give("archive", to: path) } }
            try report(problems)
        } catch {
            await ThreadPool.shared.run { workplace.remove() }
            throw error
        }
    }

    /// Prints warnings about the archive, which is already written.
    private func warn(_ settings: OfficialCoreSettings) {
        if let database = try? choice.database(), (try? database.condition()) == .plain {
            Terminal.complain(
                "chatfs: the SimpleX database is not encrypted, so anyone with the archive can read it"
            )
        }
        let sent = settings.filesFolder + "/outbox"
        if let folder = try? OpenFile(sent, flags: O_RDONLY | O_DIRECTORY),
            let names = try? PrivateFolder.names(in: folder), names.contains(where: { !$0.hasPrefix(".") })
        {
            Terminal.complain(
                "chatfs: files sent with ChatFS are not in the archive, which has no folders; they are encrypted "
                    + "in \(sent): keep a copy of it, and restore it after an import")
        }
    }

    // MARK: - Reading

    func read(from path: String) async throws {
        let database = try choice.database()
        // The core creates its databases and files with the process's umask.
        umask(0o077)
        try await ThreadPool.shared.run {
            _ = try naming(path) { try OpenFile(path, flags: O_RDONLY) }
            try database.requireFree()
        }
        let workplace = try await ThreadPool.shared.run {
            try Workplace(beside: database.prefix, for: "import")
        }
        do {
            // The program needs a profile before it listens. Importing replaces the profile with its
            // databases.
            let problems = try await use(named: "import") { archive, settings in
                let problems = try await archive.read(
                    from: AbsolutePath.of(path), temporary: workplace.path)
                await ThreadPool.shared.run { Self.closeToOthers(filesIn: settings.filesFolder) }
                return problems
            }
            await ThreadPool.shared.run {
                workplace.remove()
                database.removeCopies()
                database.closeToOthers()
            }
            try report(problems)
        } catch let exit as ExitCode {
            throw exit
        } catch {
            // The destination was empty before, so its content is this command's, or that of the process that has it
            // open.
            let isOurs = (error as? OfficialCoreError)?.code != .inUse
            await ThreadPool.shared.run {
                workplace.remove()
                if isOurs { database.remove() }
            }
            throw error
        }
    }

    /// Restricts the modes of unpacked files. Fails for files of other users.
    private static func closeToOthers(filesIn path: String) {
        guard let folder = try? OpenFile(path, flags: O_RDONLY | O_DIRECTORY),
            let names = try? PrivateFolder.names(in: folder)
        else { return }
        for name in names {
            guard let file = try? OpenFile(name, flags: O_RDONLY | O_NOFOLLOW, in: folder),
                let status = try? file.status(), status.st_mode & S_IFMT == S_IFREG
            else { continue }
            fchmod(file.descriptor, status.st_mode & 0o700)
        }
    }

    // MARK: - The core

    private func use<Result: Sendable>(
        named profile: String?,
        _ body: (CoreArchive, OfficialCoreSettings) async throws -> Result
    ) async throws -> Result {
        let (choice, dataPath) = (choice, dataPath)
        var settings = try await ThreadPool.shared.run {
            try DataDirectory.makeFolder(dataPath)
            return try choice.settings(dataPath: dataPath)
        }
        settings.profileName = profile
        let transport = try await choice.transport(settings, startsChats: false)
        let archive: CoreArchive
        do throws(ChatError) {
            archive = try await CoreArchive.open(transport, settings)
        } catch {
            // A task of its own, because this one may be cancelled.
            await Task { await transport.close() }.value
            throw error
        }
        return try await concluding(with: archive.close) { try await body(archive, settings) }
    }

    private func report(_ problems: [APIArchiveProblem]) throws {
        guard !problems.isEmpty else { return }
        for problem in problems {
            Terminal.complain("chatfs: \(problem.file.map { $0 + ": " } ?? "")\(problem.sentence)")
        }
        Terminal.complain(
            "chatfs: \(counted(problems.count, "file")) could not be transferred")
        throw ExitCode.failure
    }
}

/// A hidden, private directory next to the destination, in which a core assembles files. Its databases may be in plain
/// text, so the system's temporary directory is unsuitable. Remains of a killed process are removed.
private struct Workplace: Sendable {
    private let folder: PrivateFolder
    /// Held for the life of this value.
    private let lock: OpenFile

    var path: String { folder.path }

    /// - Throws: EBUSY while another process uses it.
    init(beside path: String, for purpose: String) throws {
        folder = try PrivateFolder(
            "\(path.parentPath)/.\(path.lastPathName ?? "").\(purpose)ing", purpose: "chatfs \(purpose)")
        lock = folder.directory
        guard try lock.tryLock(named: folder.path) else {
            throw SystemError(code: EBUSY, operation: "begin an \(purpose)")
        }
        try folder.empty()
    }

    func file(_ name: String) -> String { path + "/" + name }

    /// Makes a file durable, gives it its final name, and removes the rest.
    func give(_ name: String, to target: String) throws {
        let file = try OpenFile(file(name), flags: O_RDWR | O_NOFOLLOW)
        try check("restrict the mode of a file") { fchmod(file.descriptor, 0o600) }
        try file.synchronise()
        try check("rename a new file") {
            chatfs_rename_without_replacing(AT_FDCWD, self.file(name), AT_FDCWD, target)
        }
        try OpenFile(target.parentPath, flags: O_RDONLY | O_DIRECTORY).synchronise()
        remove()
    }

    /// Best effort: the next use removes remains.
    func remove() { try? folder.remove() }
}
