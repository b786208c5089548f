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
    private static let listen = Option(
        "listen", named: "HOST:PORT", .text, default: "127.0.0.1:0",
        "Address to listen on. Port 0 takes the previous port if it is free, else any free port.")
    private static let host = Option(
        "host", named: "NAME", .text,
        "Name or address of this machine in the printed addresses; default the host of --listen.")
    private static let folder = Option(
        "dir", named: "DIR", .folder,
        "The folder of the relay; default ${XDG_DATA_HOME:-~/.local/share}/chatfs/relay.")
    private static let quota = Option(
        "quota", named: "SIZE", .byteCount, default: 10 << 30,
        "Maximum size of stored chunks and their records.")
    private static let expiry = Option(
        "expire", named: "TIME", .duration, default: RelaySettings(folder: "").expiry,
        "How long a chunk is kept.")
    private static let messagePort = Option(
        "smp-port", named: "PORT", .integer(0...65535), default: 0,
        "Port for messages, on the host of --listen; 0 as there.")
    private static let messageQuota = Option(
        "smp-quota", named: "SIZE", .byteCount, default: 1 << 30,
        "Maximum size of stored queues and messages.")
    private static let messageExpiry = Option(
        "smp-expire", named: "TIME", .duration, default: MessageRelaySettings.usualExpiry,
        "How long an unfetched message is kept.")
    private static let unusedQueues = Option(
        "smp-unused", named: "TIME", .duration, default: MessageRelaySettings.usualUnusedQueues,
        "How long a queue is kept that was never used.")
    private static let idleQueues = Option(
        "smp-idle", named: "TIME", .duration, default: MessageRelaySettings.usualIdleQueues,
        "How long a queue is kept after its last use.")
    private static let newQueues = Option(
        "queues-per-hour", named: "N", .integer(1...1_000_000_000),
        default: MessageRelaySettings.Limits().newQueues,
        "Maximum number of queues that one client address creates in an hour.")
    private static let noHandOn = Option.flag(
        "no-hand-on",
        "Forward no messages to other relays. Forwarding hides the addresses of clients from those relays.")
    private static let noMessages = Option.flag("no-smp", "Serve files only, and print only the first line.")
    private static let certificate = Option(
        "certificate", named: "KIND", .choice(CertificateKind.self),
        "Algorithm of the certificates created at the first start; default ed25519.")

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
            listen, host, folder, quota, expiry, messagePort, messageQuota, messageExpiry, unusedQueues,
            idleQueues, newQueues, noHandOn, noMessages,
        ] + RelayPassword.options + [certificate, CommonOptions.noEncryption] + CommonOptions.unlocking,
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
        let isDefault = invocation[folder] == nil
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
        if !invocation[noMessages] {
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
        let port = UInt16(invocation[messagePort])
        var settings = MessageRelaySettings(
            folder: files.folder + "/messages", listen: Endpoint(host: files.listen.host, port: port),
            identity: relay.identity, password: files.password, quota: invocation[messageQuota],
            expiry: invocation[messageExpiry], key: files.key)
        settings.host = files.host
        settings.unusedQueues = invocation[unusedQueues]
        settings.idleQueues = invocation[idleQueues]
        settings.limits.newQueues = invocation[newQueues]
        if !invocation[noHandOn] { settings.handsOn = .to(.strangers()) }
        return settings
    }

    private static func settings(from invocation: Invocation) throws -> RelaySettings {
        let text = invocation[listen]
        guard let endpoint = Endpoint(text) else {
            throw UsageError("'\(text)' is not an address to listen on: expected HOST:PORT")
        }
        for option in [expiry, messageExpiry, unusedQueues, idleQueues]
        where invocation[option] < .seconds(1) {
            throw UsageError("--\(option.name) must be at least 1s")
        }
        if invocation[quota] < RelaySettings.minQuota {
            throw UsageError("--quota must be at least 65kb, for one chunk and its record")
        }
        let host = invocation[host]
        if let host, ServerAddress(fingerprint: [UInt8](repeating: 0, count: 32), hosts: [host]) == nil {
            throw UsageError("'\(host)' is not a host name or address")
        }
        var settings = RelaySettings(
            folder: invocation[folder] ?? DataDirectory.defaultRelayPath, listen: endpoint,
            quota: invocation[quota], expiry: invocation[expiry],
            password: try RelayPassword.read(invocation),
            certificate: invocation[certificate])
        settings.host = host
        return settings
    }
}
