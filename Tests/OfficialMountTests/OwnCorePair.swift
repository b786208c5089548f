import Glibc
import Posix
import TestSupport
import Testing

/// Olga at the official program, and a mount with ChatFS's own core. The mount calls her `olga`; she calls
/// the mount's profile `reader`.
final class OwnCorePair {
    let relays: OfficialRelays
    let olga: OfficialPerson
    /// A client of Olga's current program.
    private(set) var client: OfficialClient
    let contact: Int64
    private var mount: RunningProcess
    private var chats: String { relays.folder.path("Chats") }
    var chat: String { relays.folder.path("Chats/olga") }
    private var data: [String] { ["--data", relays.folder.path("data")] }

    static func start() async throws -> OwnCorePair {
        let relays = try await OfficialRelays()
        let olga = try await OfficialPerson("olga", relays)
        let client = try await olga.client()
        let invitation = try await client.command("/connect")
        let link = try OfficialClient.text("connShortLink", in: invitation)
        let accepted = try await ChatFSProcess.run([
            "accept", link, "--profile", "reader", "--server", relays.messages.address, "--relay",
            relays.files.address, "--data", relays.folder.path("data"),
        ])
        guard accepted.succeeded else { throw WaitedInVain("accept: \(accepted.errors)") }
        let contact = try await client.chat("contactId", named: "reader")
        _ = try relays.folder.makeFolder("Chats")
        let mount = try await mounted(relays)
        return OwnCorePair(relays, olga, client, contact, mount)
    }

    private init(
        _ relays: OfficialRelays, _ olga: OfficialPerson, _ client: OfficialClient, _ contact: Int64,
        _ mount: RunningProcess
    ) {
        (self.relays, self.olga, self.client) = (relays, olga, client)
        (self.contact, self.mount) = (contact, mount)
    }

    private static func mounted(_ relays: OfficialRelays) async throws -> RunningProcess {
        let chats = relays.folder.path("Chats")
        let mount = try await ChatFSProcess.start([
            "mount", chats, "--cache-dir", relays.folder.path("cache"), "--data", relays.folder.path("data"),
            "--quiet-time", "200ms",
        ])
        try await wait(until: "olga has a folder", within: .seconds(60)) {
            access(chats + "/olga", F_OK) == 0
        }
        return mount
    }

    func end() async throws {
        #expect(try await mount.terminate() == .code(0))
        client.close()
        try await olga.stopProgram()
        try await relays.stop()
    }

    // MARK: - Kills

    /// Kills the daemon and mounts again.
    func killMount() async throws {
        mount.send(SIGKILL)
        try await mount.ending()
        Unmounting.detach(chats)
        mount = try await Self.mounted(relays)
    }

    /// Kills Olga's program, runs `body` and starts the program.
    func killProgram(_ body: () async throws -> Void) async throws {
        client.close()
        try await olga.killProgram()
        try await body()
        try await olga.startProgram()
        client = try await olga.client()
    }

    // MARK: - Sending

    /// Olga sends a file. Her program has stored the message when this returns.
    func offer(_ name: String, count: Int) async throws {
        try await fill(olga.files + "/" + name, count: count)
        try await client.command(
            "/_send @\(contact) json [{\"fileSource\":{\"filePath\":\"\(name)\"},"
                + "\"msgContent\":{\"type\":\"file\",\"text\":\"\"},\"mentions\":{}}]")
    }

    /// Copies a file into the mount. The copy is complete when this returns.
    func copyIn(_ name: String, count: Int) async throws {
        let source = relays.folder.path(name)
        try await fill(source, count: count)
        let copied = try await Shell.run("cp", [source, chat + "/"], limit: .seconds(120))
        guard copied.succeeded else { throw WaitedInVain("cp: \(copied.errors)") }
    }

    /// Sends a text from the mount. The core has stored it when this returns.
    func write(_ text: String) async throws {
        let sent = try await ChatFSProcess.run(["send", "--text", text, "olga"] + data)
        guard sent.succeeded else { throw WaitedInVain("send: \(sent.errors)") }
    }

    private func fill(_ path: String, count: Int) async throws {
        let made = try await Shell.script(
            "head -c \(count) /dev/urandom >'\(path)'", limit: .seconds(120))
        guard made.succeeded else { throw WaitedInVain("head: \(made.errors)") }
    }

    // MARK: - Arrival

    /// Reads a file of Olga completely.
    func waitUntilRead(_ name: String) async throws {
        try await wait(until: "\(name) is offered", within: .seconds(90)) {
            access(chat + "/" + name, F_OK) == 0
        }
        // The relay needs the upload first, and a read without a description fails at its own deadline.
        try await wait(until: "\(name) can be read", within: .seconds(600)) {
            try await Shell.run("cmp", [olga.files + "/" + name, chat + "/" + name], limit: .seconds(300))
                .succeeded
        }
    }

    /// Waits until Olga's program has a file's message and description.
    func waitUntilOffered(_ name: String) async throws {
        try await wait(until: "\(name) is offered to olga", within: .seconds(300)) {
            guard try await count(atOlga: .file(name)) == 1 else { return false }
            return try await client.command(
                "/sql chat SELECT 'described' FROM files JOIN rcv_files USING (file_id) "
                    + "JOIN xftp_file_descriptions USING (file_descr_id) "
                    + "WHERE file_name = '\(name)' AND file_descr_complete = 1"
            ).contains(#","described"]"#)
        }
    }

    /// Receives a copied file in Olga's program and waits for its end.
    func waitUntilReceived(_ name: String) async throws {
        try await waitUntilOffered(name)
        try await askFor(name)
        try await wait(until: "olga has \(name)", within: .seconds(600)) {
            let (source, copy) = (relays.folder.path(name), olga.files + "/" + name)
            return try await Shell.run("cmp", [source, copy], limit: .seconds(300)).succeeded
        }
    }

    /// Starts the reception of an offered file in Olga's program.
    func askFor(_ name: String) async throws {
        let items = try await history().split(separator: "\"chatDir\"")
        guard let item = items.first(where: { $0.contains("\"fileName\":\"\(name)\"") }) else { return }
        if item.contains("rcvInvitation") {
            let file = try OfficialClient.number("fileId", in: String(item))
            try await client.command("/freceive \(file) approved_relays=on")
        }
    }

    /// The number of messages with this file name or text in Olga's program.
    func count(atOlga part: Shown) async throws -> Int {
        try await history().split(separator: part.inHistory, omittingEmptySubsequences: false).count - 1
    }

    /// The newest messages in the database of Olga's program.
    private func history() async throws -> String {
        try await client.command("/_get chat @\(contact) count=100")
    }

    /// The number of log lines with this text from Olga.
    func count(here text: String) throws -> Int {
        let log = String(decoding: try relays.folder.read("Chats/.chatfs/messages/olga.jsonl"), as: UTF8.self)
        return log.split(separator: "\n").count { line in
            line.contains(#""event":"message""#) && line.contains("\"\(text)\"")
        }
    }

    func names() throws -> [String] { try relays.folder.names(in: "Chats/olga") }

    enum Shown {
        case file(String)
        case text(String)

        fileprivate var inHistory: String {
            switch self {
            case .file(let name): "\"fileName\":\"\(name)\""
            case .text(let text): "\"itemText\":\"\(text)\""
            }
        }
    }
}
