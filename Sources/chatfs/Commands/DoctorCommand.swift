import Base
import CommandLineKit
import Glibc
import Network
import OfficialCore
import Posix
import XFTP

/// `chatfs doctor`: checks the machine and the servers for everything a mount needs.
enum DoctorCommand {
    private static let core = Option(
        "core", named: "CORE", .text,
        "An official core: lib:/path/libsimplex.so, ws://127.0.0.1:PORT, simplex-chat or "
            + "simplex-chat:/path.")
    private static let database = Option(
        "database", named: "PREFIX", .file,
        "The core's database, without _chat.db; by default ~/.simplex/simplex_v1 if it exists.")
    private static let filesFolder = Option(
        "files-folder", named: "DIR", .folder, "The core's folder of files.")
    private static let proxy = Option(
        "socks-proxy", named: "HOST:PORT", .text, "Contact the relays through this SOCKS5 proxy.")
    private static let relays = Option.list("relay", named: "ADDR", .text, "Another relay to contact.")
    private static let offline = Option.flag("offline", "Contact no servers.")
    private static let yes = Option.flag("yes", "Contact servers without asking you.")
    private static let fix = Option.flag("fix", "Apply safe remedies: remove dead mounts.")
    private static let report = Option(
        "report", named: "FILE", .file,
        "Write versions and findings, without names and addresses, to a new file for sharing.")

    static let command = Command(
        "doctor", "Check that everything a mount needs is available.",
        discussion: """
            Checks FUSE, dead mounts and processes that hold one, the disk, the clock, the keyring, kernel features, \
            preview programs, the desktop's indexers and thumbnailers on mounts, services, and the core that --core \
            names (without it: the data directory), with its database and files folder. Then it contacts the \
            configured servers; on a terminal it asks you before, since they see your address. Changes nothing without \
            --fix. Ends with 1 if something is missing or does not work.
            """,
        section: CommandSection.other,
        options: [
            core, database, filesFolder, proxy, relays, offline, yes, fix, report, ProgramConnection.json,
        ] + CommonOptions.directory,
        examples: [
            Example("chatfs doctor", "Check FUSE, profiles and relays."),
            Example("chatfs doctor --fix --report report.txt", "Apply safe remedies and report the rest."),
            Example(
                "chatfs doctor --core lib:/opt/simplex/libsimplex.so", "Check a library and its database."),
        ]
    ) { invocation in
        let core = try examination(invocation)
        let isForPrograms = invocation[ProgramConnection.json]
        var findings: [Finding] = []
        func add(_ found: [Finding]) async {
            let shown: [Finding] = if invocation[fix] { await mended(found) } else { found }
            for finding in shown { Terminal.print(isForPrograms ? finding.json : finding.line) }
            findings += shown
        }
        await add(
            await ThreadPool.shared.run { MachineExamination.findings() + SystemExamination.findings() })
        await add(await MountExamination.findings())
        await add(await MachineExamination.previews())
        await add(await DesktopExamination.findings())
        await add(await ThreadPool.shared.run { BusExamination.findings() })
        await add(await ServiceExamination.findings())
        var servers = ServerExamination()
        for relay in try invocation.relays() { servers.add(.files(relay)) }
        if let core {
            let result = await core.run()
            for relay in result.relays { servers.add(.files(relay)) }
            await add(result.findings)
        } else {
            let access = try DirectoryAccess(invocation)
            let result = await ThreadPool.shared.run { MachineExamination.embedded(access) }
            servers.add(result.servers)
            await add(result.findings)
        }
        servers.proxy = try invocation.proxy(proxy)
        // The library and the program name their relays only while their database is open.
        let knowsServers = !servers.servers.isEmpty || invocation[Self.core] == nil
        if knowsServers, await mayAsk(servers, invocation) {
            await add(await servers.findings(hasNetwork: SystemExamination.hasNetwork()))
        }
        if let file = invocation[report] { try await write(findings, to: file) }
        if findings.contains(where: { $0.isBad }) { throw ExitCode.failure }
    }

    /// Asks on a terminal only: scripts have asked for it by calling this command.
    private static func mayAsk(_ servers: ServerExamination, _ invocation: Invocation) async -> Bool {
        if invocation[offline] { return false }
        let count = servers.remoteCount
        guard count > 0, !invocation[yes], Question.isPossible else { return true }
        let noun = count == 1 ? "1 server" : "\(count) servers"
        let question = "Contact \(noun) of your profiles? They see your address. [y/N]  "
        let answer = await ThreadPool.shared.run { Question.line(question) }
        return ["y", "yes"].contains(answer?.lowercased())
    }

    /// The findings after all remedies were applied.
    private static func mended(_ findings: [Finding]) async -> [Finding] {
        var result: [Finding] = []
        for finding in findings {
            guard let remedy = finding.remedy else {
                result.append(finding)
                continue
            }
            do {
                try await remedy.apply()
                result.append(Finding(kind: .fixed, text: remedy.done, names: finding.names))
            } catch {
                result.append(finding)
                result.append(
                    .failed("this could not be fixed: \(sentence(of: error))", naming: finding.names))
            }
        }
        return result
    }

    private static func write(_ findings: [Finding], to path: String) async throws {
        try await ThreadPool.shared.run { () throws(any Error) in
            let text = DoctorReport(findings).lines.joined(separator: "\n") + "\n"
            do throws(SystemError) {
                let file = try OpenFile(path, flags: O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
                try file.write(Array(text.utf8), at: 0)
            } catch {
                throw PathError(path, error)
            }
        }
        Terminal.note("chatfs: read \(path) before you share it")
    }

    private static func examination(_ invocation: Invocation) throws -> CoreExamination? {
        guard let text = invocation[core] else { return nil }
        let address: OfficialCoreAddress
        do throws(OfficialCoreError) {
            address = try OfficialCoreAddress(text)
        } catch {
            throw UsageError(error.sentence)
        }
        let database = try DatabaseFiles(prefix: invocation[database] ?? DatabaseFiles.defaultPrefix())
        return CoreExamination(
            address: address, database: database, filesFolder: invocation[filesFolder])
    }
}
