import Archive
import Base
import CLinux
import ChatCore
import CommandLineKit
import EmbeddedCore
import Glibc
import OfficialCore
import Posix

/// `chatfs export` and `chatfs import` with an official core: SimpleX's own archive, which its other programs read too.
struct OfficialArchive: Sendable {
    private let choice: OfficialCoreChoice
    /// Of ChatFS, beside which what it keeps about the core lies.
    private let dataPath: String

    /// nil without `--core`.
    init?(_ invocation: Invocation) throws {
        guard
            let choice = try OfficialCoreChoice(
                core: invocation["core"], database: invocation["database"],
                filesFolder: invocation["files-folder"],
                passphraseDescriptor: invocation["database-passphrase-fd"])
        else { return nil }
        self.choice = choice
        dataPath = AbsolutePath.of(invocation["data"] ?? DataDirectory.defaultPath())
    }

    static let options = [
        CommonOptions.core, CommonOptions.database, CommonOptions.filesFolder, CommonOptions.passphrase,
    ]

    /// - Throws: for an option of ChatFS's own archives.
    static func refuse(_ names: [String], _ invocation: Invocation) throws(UsageError) {
        guard let name = names.first(where: invocation.isGiven) else { return }
        throw UsageError("--\(name) is for ChatFS's own core: the archive of --core is SimpleX's own")
    }

    /// How long an interrupted command may take to have the core go on, or end.
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

    /// What somebody who relies on the archive should know, as far as it can be found out: the archive is made already.
    private func warn(_ settings: OfficialCoreSettings) {
        if let database = try? choice.database(), (try? database.condition()) == .plain {
            Terminal.complain(
                "chatfs: the SimpleX database is not encrypted, and neither is the archive: whoever has it can read it"
            )
        }
        let sent = settings.filesFolder + "/outbox"
        if let folder = try? OpenFile(sent, flags: O_RDONLY | O_DIRECTORY),
            let names = try? PrivateFolder.names(in: folder), names.contains(where: { !$0.hasPrefix(".") })
        {
            Terminal.complain(
                "chatfs: files that were sent with ChatFS are not in the archive, which has no folders; they lie "
                    + "encrypted in \(sent): keep a copy of it, and put it there again after an import")
        }
    }

    // MARK: - Reading

    func read(from path: String) async throws {
        let database = try choice.database()
        // A core makes its databases and files as its process does.
        umask(0o077)
        try await ThreadPool.shared.run {
            _ = try naming(path) { try OpenFile(path, flags: O_RDONLY) }
            try database.requireFree()
        }
        let workplace = try await ThreadPool.shared.run {
            try Workplace(beside: database.prefix, for: "import")
        }
        do {
            // The program must have a profile before it listens; it goes with its databases.
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
            // There was nothing: what is there was made here just now, or by whoever has it open.
            let isOurs = (error as? OfficialCoreError)?.code != .inUse
            await ThreadPool.shared.run {
                workplace.remove()
                if isOurs { database.remove() }
            }
            throw error
        }
    }

    /// Programs that unpack archives give files the modes that those say. What cannot be changed belongs to somebody else.
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
            // In a task of its own: this one may be cancelled.
            await Task { await transport.close() }.value
            throw error
        }
        do {
            let result = try await body(archive, settings)
            await archive.close()
            return result
        } catch {
            await archive.close()
            throw error
        }
    }

    private func report(_ problems: [APIArchiveProblem]) throws {
        guard !problems.isEmpty else { return }
        for problem in problems {
            Terminal.complain("chatfs: \(problem.file.map { $0 + ": " } ?? "")\(problem.sentence)")
        }
        Terminal.complain(
            "chatfs: \(problems.count) file\(problems.count == 1 ? "" : "s") could not be taken along")
        throw ExitCode.failure
    }
}

extension Invocation {
    /// Whether an option was given, of whatever kind; not where the command has none of this name.
    func isGiven(_ name: String) -> Bool {
        guard let option = command.options.first(where: { $0.name == name }) else { return false }
        return option.type == nil ? has(name) : !all(name).isEmpty
    }
}

/// A hidden folder beside a place, for this user alone, in which a core puts together what is to be there: databases may
/// be in clear in it, so it is not the system's folder for temporary files. One that a killed process left is emptied.
private struct Workplace: Sendable {
    private let folder: PrivateFolder
    /// For the life of this value.
    private let lock: OpenFile

    var path: String { folder.path }

    /// - Throws: EBUSY while another process works there.
    init(beside path: String, for purpose: String) throws {
        folder = try PrivateFolder(
            "\(path.parentPath)/.\(path.lastPathName ?? "").\(purpose)ing", purpose: "chatfs \(purpose)")
        lock = folder.directory
        guard try lock.tryLock() else { throw SystemError(code: EBUSY, operation: "begin an \(purpose)") }
        try folder.empty()
    }

    func file(_ name: String) -> String { path + "/" + name }

    /// Makes a whole file durable, gives it its name, and removes the rest.
    func give(_ name: String, to target: String) throws {
        let file = try OpenFile(file(name), flags: O_RDWR | O_NOFOLLOW)
        try check("close a file to others") { fchmod(file.descriptor, 0o600) }
        try file.synchronise()
        try check("give a new file its name") {
            chatfs_rename_without_replacing(AT_FDCWD, self.file(name), AT_FDCWD, target)
        }
        try OpenFile(target.parentPath, flags: O_RDONLY | O_DIRECTORY).synchronise()
        remove()
    }

    /// Best effort: the next one empties what is left.
    func remove() { try? folder.remove() }
}
