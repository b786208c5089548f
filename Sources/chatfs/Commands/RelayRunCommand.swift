import Base
import ChatCore
import CommandLineKit
import Desktop
import EmbeddedCore
import Network
import Posix
import SMP
import SMPRelay
import Unlocking
import XFTP
import XFTPRelay

/// `chatfs relay run`: runs an XFTP relay and an SMP relay.
enum RelayRunCommand {
    static let command = Command(
        "run", "Run a relay that stores encrypted chunks and messages until they expire.",
        discussion: """
            Prints two lines when it is ready: its address for files (xftp://), for --relay, and its address for \
            messages (smp://), for SimpleX programs. Both use the same certificates, created at the first start; the \
            fingerprint in the addresses stays the same while DIR exists. Acknowledged chunks and messages survive \
            crashes and power cuts. Expired chunks and messages and unused queues are deleted automatically; 'chatfs \
            relay stat' shows the contents.

            SIGINT (Ctrl-C), SIGTERM and SIGHUP end it cleanly. 'chatfs relay' without a command is the same.
            """,
        options: [
            .value(
                "listen", named: "HOST:PORT", .text, default: "127.0.0.1:0",
                "Address to listen on. Port 0 takes the previous port if it is free, else any free port."),
            .value(
                "host", named: "NAME", .text,
                "Name or address of this machine in the printed addresses; default the host of --listen."),
            .value(
                "dir", named: "DIR", .folder,
                "Its folder; default ${XDG_DATA_HOME:-~/.local/share}/chatfs/relay."),
            .value(
                "quota", named: "SIZE", .byteCount, default: "10gb",
                "Maximum size of stored chunks and their records."),
            .value("expire", named: "TIME", .duration, default: "48h", "How long a chunk is kept."),
            .value(
                "smp-port", named: "PORT", .integer(0...65535), default: "0",
                "Port for messages, on the host of --listen; 0 as there."),
            .value(
                "smp-quota", named: "SIZE", .byteCount, default: "1gb",
                "Maximum size of stored queues and messages."),
            .value(
                "smp-expire", named: "TIME", .duration, default: "21d",
                "How long an unfetched message is kept."),
            .value(
                "smp-unused", named: "TIME", .duration, default: "7d",
                "How long a queue is kept that was never used."),
            .value(
                "smp-idle", named: "TIME", .duration, default: "90d",
                "How long a queue is kept after its last use."),
            .value(
                "queues-per-hour", named: "N", .integer(1...1_000_000_000), default: "1000",
                "Maximum number of queues that one client address creates in an hour."),
            .flag(
                "no-hand-on",
                "Forward no messages to other relays. Forwarding hides the addresses of clients from "
                    + "those relays."),
            .flag("no-smp", "Serve files only, and print only the first line."),
        ] + RelayPassword.options + [
            .value(
                "certificate", named: "KIND", .choice(CertificateKind.allCases.map(\.rawValue)),
                "Algorithm of the certificates created at the first start; default ed25519."),
            CommonOptions.noEncryption,
        ] + CommonOptions.unlocking,
        examples: [
            Example("chatfs relay", "Run a relay for this machine."),
            Example(
                "chatfs relay --listen 0.0.0.0:443 --host relay.example --password-file relay.password",
                "Run a public relay with a password."),
        ],
        waitsForStop: true
    ) { invocation in
        ProcessHardening.apply()
        ProcessHardening.allowManyOpenFiles()
        let wanted = try settings(from: invocation)
        let isDefault = invocation["dir"] == nil
        let access = try DirectoryAccess(path: DataDirectory.defaultPath(), ways: Ways(invocation))
        let (relay, settings, directory) = try await ThreadPool.shared.run {
            var settings = wanted
            // The default folder lies in the data directory, whose creation adds its marker; without the marker other
            // commands would refuse it. Any other folder has keys of its own.
            let directory = isDefault ? try access.open(isMade: true) : nil
            settings.key =
                isDefault
                ? directory?.key
                : try DirectoryAccess.key(
                    of: KeyedFolder(path: settings.folder, database: Relay.recordsFile),
                    lockFile: Relay.lockFile,
                    exposed:
                        "the keys of the relay and of its queues; chunks and messages are encrypted by their senders",
                    access.ways
                ) {
                    try Relay.makeFolder(settings.folder)
                }
            return (try Relay.start(settings), settings, directory)
        }
        var messages: MessageRelay?
        if !invocation.has("no-smp") {
            let settings = try messageSettings(from: invocation, beside: settings, relay)
            messages = try await ThreadPool.shared.run { () throws(MessageRelayError) in
                try MessageRelay.start(settings)
            }
        }
        let control = try control(settings.folder, relay, messages)
        if let warning = RelayReach.warning(listen: settings.listen.host, name: settings.host) {
            Terminal.note(warning)
        }
        Terminal.print(relay.address.text)
        if let messages { Terminal.print(messages.address.text) }
        await invocation.stop.wait()
        control.stop()
        await messages?.stop()
        await relay.stop()
        // Keeps the directory locked until here.
        withExtendedLifetime(directory) {}
    }

    /// Serves 'chatfs relay stat' and 'purge'.
    private static func control(
        _ folder: String, _ files: Relay, _ messages: MessageRelay?
    ) throws(DesktopError) -> RelayControlServer {
        let upkeep = RelayUpkeep(files: files, messages: messages)
        return try RelayControlServer(folder: folder) { request in
            do {
                return try await upkeep.answer(request)
            } catch {
                return RelayAnswer(problem: sentence(of: error))
            }
        }
    }

    private static func messageSettings(
        from invocation: Invocation, beside files: RelaySettings, _ relay: Relay
    ) throws -> MessageRelaySettings {
        let expiry = try duration("smp-expire", invocation)
        let port = invocation["smp-port"].flatMap { UInt16($0) } ?? 0
        var settings = MessageRelaySettings(
            folder: files.folder + "/messages", listen: Endpoint(host: files.listen.host, port: port),
            identity: relay.identity, password: files.password, quota: invocation.byteCount("smp-quota"),
            expiry: expiry, key: files.key)
        settings.host = files.host
        settings.unusedQueues = try duration("smp-unused", invocation)
        settings.idleQueues = try duration("smp-idle", invocation)
        settings.limits.newQueues = invocation.integer("queues-per-hour") ?? settings.limits.newQueues
        if !invocation.has("no-hand-on") { settings.handsOn = .to(.strangers()) }
        return settings
    }

    private static func settings(from invocation: Invocation) throws -> RelaySettings {
        let text = invocation["listen"] ?? ""
        guard let endpoint = Endpoint(text) else {
            throw UsageError("'\(text)' is not an address to listen on: expected HOST:PORT")
        }
        let expiry = try duration("expire", invocation)
        for name in ["smp-expire", "smp-unused", "smp-idle"] { _ = try duration(name, invocation) }
        if let quota = invocation.byteCount("quota"), quota < RelaySettings.minQuota {
            throw UsageError("--quota must be at least 65kb, for one chunk and its record")
        }
        let host = invocation["host"]
        if let host, ServerAddress(fingerprint: [UInt8](repeating: 0, count: 32), hosts: [host]) == nil {
            throw UsageError("'\(host)' is not a host name or address")
        }
        var settings = RelaySettings(
            folder: invocation["dir"] ?? DataDirectory.defaultPath() + "/relay", listen: endpoint,
            quota: invocation.byteCount("quota"), expiry: expiry,
            password: try RelayPassword.read(invocation),
            certificate: invocation["certificate"].flatMap(CertificateKind.init))
        settings.host = host
        return settings
    }

    private static func duration(_ name: String, _ invocation: Invocation) throws(UsageError) -> Duration {
        guard let duration = invocation.duration(name), duration >= .seconds(1) else {
            throw UsageError("--\(name) must be at least 1s")
        }
        return duration
    }
}
