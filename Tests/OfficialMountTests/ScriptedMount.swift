import Base
import Cryptography
import Glibc
import Posix
import ScriptedCore
import TestSupport

/// A mount on a scripted core. One of ChatFS's file relays stores the files of its messages.
final class ScriptedMount {
    let simplex = ScriptedSimpleX()
    let folder: TemporaryFolder
    let relay: RunningProcess
    let relayAddress: String
    let server: ScriptedServer
    private(set) var daemon: RunningProcess?

    static func start() async throws -> ScriptedMount {
        let folder = try TemporaryFolder()
        let relay = try await ChatFSProcess.start(["relay", "--dir", folder.path("relay")])
        let address = try await relay.line("its address") { $0.hasPrefix("xftp://") }
        return try ScriptedMount(folder, relay, address)
    }

    private init(_ folder: TemporaryFolder, _ relay: RunningProcess, _ address: String) throws {
        self.folder = folder
        self.relay = relay
        relayAddress = address
        server = try ScriptedServer(simplex)
        for name in ["files", "Chats"] { _ = try folder.makeFolder(name) }
        simplex.change { $0.relays = [address] }
    }

    deinit {
        daemon?.send(SIGKILL)
        relay.send(SIGKILL)
        Unmounting.detach(folder.path("Chats"))
        server.close()
    }

    /// The relay's port.
    var relayPort: UInt16 { relayAddress.split(separator: ":").last.flatMap { UInt16($0) } ?? 0 }

    /// Uploads bytes to the relay and returns the file description.
    func upload(_ bytes: [UInt8]) async throws -> String {
        let source = try folder.write(bytes, to: "source.bin")
        let outcome = try await ChatFSProcess.run(
            ["file", "send", source, "--relay", relayAddress, "--out", folder.path("descriptions")],
            environment: ["HOME": folder.path])
        guard outcome.succeeded else { throw WaitedInVain("file send: \(outcome.errors)") }
        return String(decoding: try folder.read("descriptions/rcv1.xftp"), as: UTF8.self)
    }

    /// A message of Bob with a file whose description the core has received.
    func offer(_ id: Int64, name: String? = nil, size: Int, description: String) -> ScriptedMessage {
        let message = ScriptedMessage(
            id: id, contact: 1, name: name ?? "offer \(id).bin", size: Int64(size))
        simplex.change { state in
            state.history.append(message)
            state.descriptions[message.fileID] = description
        }
        return message
    }

    /// From now on the core refuses to receive the file and shows it as failed in its history.
    func giveUp(_ message: ScriptedMessage) {
        let failed = simplex.change { state in
            state.history.change(message.id) {
                $0.status = #"{"type":"rcvError","rcvFileError":{"type":"relay","srvError":{"type":"host"}}}"#
            }
        }
        simplex.tell(
            "rcvFileError", failed ?? message,
            more: #","rcvFileTransfer":{"fileId":\#(message.fileID)},"#
                + #""agentError":{"type":"BROKER","brokerErr":{"type":"TIMEOUT"}}"#)
    }

    func mount(_ more: [String] = []) async throws {
        let process = try await ChatFSProcess.start(
            [
                "mount", folder.path("Chats"), "--core", "ws://127.0.0.1:\(server.port)", "--files-folder",
                folder.path("files"), "--data", folder.path("data"), "--cache-dir", folder.path("cache"),
            ] + more, environment: ["HOME": folder.path])
        daemon = process
        try await process.line("that it is mounted") { $0.contains("is mounted at") }
    }

    func path(of message: ScriptedMessage) -> String { folder.path("Chats/bob/\(message.name)") }

    func waitUntilShown(_ message: ScriptedMessage) async throws {
        let path = path(of: message)
        try await wait(until: "\(message.name) is shown") { access(path, F_OK) == 0 }
    }

    /// Opens a file as soon as its message is shown.
    func reader(of message: ScriptedMessage) async throws -> PieceReader {
        try await waitUntilShown(message)
        return try await PieceReader.start(path(of: message))
    }

    func leave() async throws {
        daemon?.send(SIGTERM)
        try await daemon?.ending(within: .seconds(60))
    }

    /// The path of the copy that ChatFS keeps for the core.
    func copy(of message: ScriptedMessage) -> String { folder.path("files/outbox/kept-\(message.fileID)") }

    func waitForCopy(of message: ScriptedMessage) async throws {
        try await wait(until: "a copy is kept") { access(copy(of: message), F_OK) == 0 }
        try await wait(until: "it is stored") {
            let state = try ExtendedAttribute.text("user.chatfs.state", of: path(of: message))
            return ["stored", "hydrated"].contains(state ?? "")
        }
    }

    func error(of message: ScriptedMessage) throws -> String? {
        try ExtendedAttribute.text("user.chatfs.error", of: path(of: message))
    }

    static func digest(_ bytes: ArraySlice<UInt8>) -> String {
        Hexadecimal.encode(SHA256.hash(Array(bytes)))
    }
}
