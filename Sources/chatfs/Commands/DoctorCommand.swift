import CommandLineKit
import Glibc
import Network
import OfficialCore
import Posix
import XFTP

/// `chatfs doctor`: what is there of what a mount needs.
enum DoctorCommand {
    static let command = Command(
        "doctor", "Check that everything a mount needs is available.",
        discussion: """
            Looks at FUSE, at what makes previews, at the desktop's indexers and thumbnailers where something is mounted, at the core that --core names (without it: at the data directory), at its database \
            and files folder, and asks the configured relays whether they are there. Changes nothing. Ends \
            with 1 when something is missing.
            """,
        section: CommandSection.other,
        options: [
            .value(
                "core", named: "CORE", .text,
                "An official core: lib:/path/libsimplex.so, ws://127.0.0.1:PORT, simplex-chat or "
                    + "simplex-chat:/path."),
            .value(
                "database", named: "PREFIX", .file,
                "Its database, without _chat.db; else ~/.simplex/simplex_v1 where it is there."),
            .value("files-folder", named: "DIR", .folder, "Where the core keeps its files."),
            .value(
                "socks-proxy", named: "HOST:PORT", .text, "Ask the relays through this SOCKS5 proxy."),
            .value("relay", named: "ADDR", .text, repeats: true, "Another relay to ask."),
            .flag("json", "For programs: one JSON object a line."),
        ] + CommonOptions.directory,
        examples: [
            Example("chatfs doctor", "FUSE, profiles, relays."),
            Example("chatfs doctor --core lib:/opt/simplex/libsimplex.so", "The library and its database."),
        ]
    ) { invocation in
        let core = try examination(invocation)
        let isForPrograms = invocation.has("json")
        let proxy = try invocation["socks-proxy"].map { text throws(UsageError) in try Invocation.proxy(text)
        }
        var relays = try invocation.relays()
        var proxies: [RelayAddress: SOCKSProxy] = [:]
        var findings = await ThreadPool.shared.run { MachineExamination.findings() }
        findings += await MachineExamination.previews()
        findings += await DesktopExamination.findings()
        findings += await ThreadPool.shared.run { BusExamination.findings() }
        for finding in findings { Terminal.print(isForPrograms ? finding.json : finding.line) }
        let more: [Finding]
        if let core {
            let result = await core.run()
            more = result.findings
            relays += result.relays
        } else {
            let access = try DirectoryAccess(invocation)
            let result = await ThreadPool.shared.run { MachineExamination.embedded(access) }
            more = result.findings
            relays += result.relays
            proxies = result.proxies
        }
        for finding in more { Terminal.print(isForPrograms ? finding.json : finding.line) }
        findings += more
        // The library and the program tell their relays only with their database open.
        let knowsRelays = !relays.isEmpty || invocation["core"] == nil
        if knowsRelays {
            let answers = await MachineExamination.relays(relays, through: proxy, else: proxies)
            for finding in answers { Terminal.print(isForPrograms ? finding.json : finding.line) }
            findings += answers
        }
        if findings.contains(where: { $0.isBad }) { throw ExitCode.failure }
    }

    private static func examination(_ invocation: Invocation) throws -> CoreExamination? {
        guard let text = invocation["core"] else { return nil }
        let address: OfficialCoreAddress
        do throws(OfficialCoreError) {
            address = try OfficialCoreAddress(text)
        } catch {
            throw UsageError(error.sentence)
        }
        let database = try DatabaseFiles(prefix: invocation["database"] ?? DatabaseFiles.defaultPrefix())
        return CoreExamination(
            address: address, database: database, filesFolder: invocation["files-folder"])
    }
}
