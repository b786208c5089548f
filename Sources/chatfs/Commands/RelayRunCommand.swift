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
        "run", "Run a relay that keeps encrypted chunks and messages for a while.",
        discussion: """
            Prints two lines when it is ready: its address for files (xftp://), which is what --relay takes \
            elsewhere, and that for messages (smp://), which SimpleX programs take as a server. Both show the \
            same certificates, which are made at the first start; the fingerprint in the addresses stays the \
            same as long as DIR does. A chunk or a message that was acknowledged survives crashes and power \
            cuts. What is never used and what expires goes by itself; 'chatfs relay stat' shows what is there.

            SIGINT (Ctrl-C), SIGTERM and SIGHUP end it cleanly. 'chatfs relay' without a command is the same.
            """,
        options: [
            .value(
                "listen", named: "HOST:PORT", .text, default: "127.0.0.1:0",
                "Where to listen. Port 0 takes the port of the last time if it is free, else any."),
            .value(
                "host", named: "NAME", .text,
                "By which others reach this machine, in the addresses; the host of --listen when left out."),
            .value(
                "dir", named: "DIR", .folder,
                "Its folder; default ${XDG_DATA_HOME:-~/.local/share}/chatfs/relay."),
            .value(
                "quota", named: "SIZE", .byteCount, default: "10gb",
                "Bytes of chunks and their records to keep at most."),
            .value("expire", named: "TIME", .duration, default: "48h", "How long a chunk is kept."),
            .value(
                "smp-port", named: "PORT", .integer(0...65535), default: "0",
                "Where messages go, on the host of --listen; 0 as there."),
            .value(
                "smp-quota", named: "SIZE", .byteCount, default: "1gb",
                "Bytes of queues and messages to keep at most."),
            .value(
                "smp-expire", named: "TIME", .duration, default: "21d",
                "How long a message is kept that nobody fetches."),
            .value(
                "smp-unused", named: "TIME", .duration, default: "7d",
                "How long a queue is kept that nobody uses after it was made."),
            .value(
                "smp-idle", named: "TIME", .duration, default: "90d",
                "How long a queue is kept that nobody uses any more."),
            .value(
                "queues-per-hour", named: "N", .integer(1...1_000_000_000), default: "1000",
                "Queues that clients of one address make in an hour at most."),
            .flag(
                "no-hand-on",
                "Hand nothing on to other relays for messages; else they do not see the addresses of clients that "
                    + "send to them over this one."),
            .flag("no-smp", "Keep no messages: only the first line is printed."),
        ] + RelayPassword.options + [
            .value(
                "certificate", named: "KIND", .choice(CertificateKind.allCases.map(\.rawValue)),
                "Algorithm of the certificates made at the first start; ed25519 when left out."),
            CommonOptions.noEncryption,
        ] + CommonOptions.unlocking,
        examples: [
            Example("chatfs relay", "A relay for this machine."),
            Example(
                "chatfs relay --listen 0.0.0.0:443 --host relay.example --password-file relay.password",
                "A relay for everybody who knows the password, and the phone."),
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
                        "the keys of the relay and of its queues; what it keeps is encrypted by its senders",
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
            throw UsageError("'\(text)' is no address to listen on: expected HOST:PORT")
        }
        let expiry = try duration("expire", invocation)
        for name in ["smp-expire", "smp-unused", "smp-idle"] { _ = try duration(name, invocation) }
        if let quota = invocation.byteCount("quota"), quota < RelaySettings.minQuota {
            throw UsageError("--quota must hold one chunk and its record at least: 65kb")
        }
        let host = invocation["host"]
        if let host, ServerAddress(fingerprint: [UInt8](repeating: 0, count: 32), hosts: [host]) == nil {
            throw UsageError("'\(host)' is no name or address of a machine")
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
