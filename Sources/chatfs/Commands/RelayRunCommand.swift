import Base
import ChatCore
import CommandLineKit
import EmbeddedCore
import Network
import Posix
import SMPRelay
import Unlocking
import XFTP
import XFTPRelay

/// `chatfs relay run`: an XFTP relay on this machine, and beside it one for messages (SMP).
enum RelayRunCommand {
    static let command = Command(
        "run", "Run a relay that keeps encrypted chunks and messages for a while.",
        discussion: """
            Prints two lines when it is ready: its address for files (xftp://), which is what --relay takes \
            elsewhere, and that for messages (smp://), which SimpleX programs take as a server. Both show the \
            same certificates, which are made at the first start; the fingerprint in the addresses stays the \
            same as long as DIR does. A chunk or a message that was acknowledged survives crashes and power \
            cuts.

            SIGINT (Ctrl-C), SIGTERM and SIGHUP end it cleanly. 'chatfs relay' without a command is the same.
            """,
        options: [
            .value(
                "listen", named: "HOST:PORT", .text, default: "127.0.0.1:0",
                "Where to listen. Port 0 takes the port of the last time if it is free, else any."),
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
            .flag(
                "no-hand-on",
                "Hand nothing on to other relays for messages; else they do not see the addresses of clients that "
                    + "send to them over this one."),
            .flag("no-smp", "Keep no messages: only the first line is printed."),
            .value(
                "password", named: "P", .text,
                "Required of clients that create chunks or queues: xftp://FINGERPRINT:P@HOST:PORT."),
            .value(
                "certificate", named: "KIND", .choice(CertificateKind.allCases.map(\.rawValue)),
                "Algorithm of the certificates made at the first start; ed25519 when left out."),
            CommonOptions.noEncryption,
        ] + CommonOptions.unlocking,
        examples: [
            Example("chatfs relay", "A relay for this machine."),
            Example(
                "chatfs relay --listen 0.0.0.0:443 --password s3cret",
                "A relay for everybody who knows the password."),
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
            // The default lies inside the data directory, which only its own code may make: a folder
            // without its marker would be refused to every other command. Any other has keys of its own.
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
        Terminal.print(relay.address.text)
        if let messages { Terminal.print(messages.address.text) }
        await invocation.stop.wait()
        await messages?.stop()
        await relay.stop()
        // In use until now.
        withExtendedLifetime(directory) {}
    }

    private static func messageSettings(
        from invocation: Invocation, beside files: RelaySettings, _ relay: Relay
    ) throws -> MessageRelaySettings {
        guard let expiry = invocation.duration("smp-expire"), expiry >= .seconds(1) else {
            throw UsageError("--smp-expire must be at least 1s")
        }
        let port = invocation["smp-port"].flatMap { UInt16($0) } ?? 0
        var settings = MessageRelaySettings(
            folder: files.folder + "/messages", listen: Endpoint(host: files.listen.host, port: port),
            identity: relay.identity, password: files.password, quota: invocation.byteCount("smp-quota"),
            expiry: expiry, key: files.key)
        if !invocation.has("no-hand-on") { settings.handsOn = .to { !IPAddress.isInternal($0) } }
        return settings
    }

    private static func settings(from invocation: Invocation) throws -> RelaySettings {
        let text = invocation["listen"] ?? ""
        guard let endpoint = Endpoint(text) else {
            throw UsageError("'\(text)' is no address to listen on: expected HOST:PORT")
        }
        guard let expiry = invocation.duration("expire"), expiry >= .seconds(1) else {
            throw UsageError("--expire must be at least 1s")
        }
        if let quota = invocation.byteCount("quota"), quota < RelaySettings.minQuota {
            throw UsageError("--quota must hold one chunk and its record at least: 65kb")
        }
        if let password = invocation["password"] {
            guard (1...255).contains(password.utf8.count), password.utf8.allSatisfy({ $0 > 32 && $0 < 127 })
            else { throw UsageError("--password takes 1 to 255 ASCII characters without spaces") }
        }
        return RelaySettings(
            folder: invocation["dir"] ?? DataDirectory.defaultPath() + "/relay", listen: endpoint,
            quota: invocation.byteCount("quota"), expiry: expiry, password: invocation["password"],
            certificate: invocation["certificate"].flatMap(CertificateKind.init))
    }
}
