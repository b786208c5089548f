import Base
import Glibc
import Posix
import ScriptedCore

/// A file of an official core with a known description is fetched chunk by chunk while the core receives it too.
struct DescribedMeasure: Measure {
    let name = "described"
    let abstract =
        "first byte of a file of an official core with its description"
    let limit = Duration.seconds(600)

    func take(on stage: Stage) async throws -> [Row] {
        let size = stage.plan.largeFile
        // With header and tag one chunk of 4 MiB.
        let chunk = (4 << 20) - (64 << 10)
        let relay = try await OwnRelay.start(on: stage)
        let chats = try ScriptedChats(on: stage)
        let offers = Offers(chats: chats, relay: relay.address, stage: stage)
        let large = try await offers.upload("large.bin", size: size)
        let small = try await offers.upload("chunk.bin", size: chunk)
        chats.simplex.change { $0.relays = [relay.address] }
        chats.simplex.whenReceiving { offers.receive($0) }
        let rounds = (0..<stage.plan.repetitions).map { _ in
            (single: offers.offer(small), first: offers.offer(large))
        }
        let mount = try await chats.mount()

        var (first, single): ([Double], [Double]) = ([], [])
        for round in rounds {
            single.append(try await offers.read(round.single, mount).whole * 1000)
            first.append(try await offers.read(round.first, mount).first * 1000)
        }
        let label = "\(size >> 20) MiB"
        return [
            Row(
                "described-first-byte", "first byte of \(label), description known", .milliseconds, first,
                beside: Reference("all of a file of one chunk", single), target: .asReference)
        ]
    }
}

/// Files on a relay, offered repeatedly by the scripted core. It receives them like the official one: the whole first,
/// then encrypted into its files folder.
private final class Offers: Sendable {
    struct Upload: Sendable {
        let source: String
        let size: Int
        let description: String
    }

    private let chats: ScriptedChats
    private let relay: String
    private let stage: Stage
    private let state = Lock(State())

    private struct State {
        var last: Int64 = 0
        var uploads: [Int64: Upload] = [:]
        var received: [Int64: Result<Void, any Error>] = [:]
    }

    init(chats: ScriptedChats, relay: String, stage: Stage) {
        self.chats = chats
        self.relay = relay
        self.stage = stage
    }

    func upload(_ name: String, size: Int) async throws -> Upload {
        let source = stage.plain(name)
        try await ThreadPool.shared.run { try FileWork.make(source, size: size, seed: 3) }
        let out = stage.path(name + "-descriptions")
        try await stage.run(Stage.chatfs, ["file", "send", source, "--relay", relay, "--out", out])
        let text = try OpenFile(out + "/rcv1.xftp", flags: O_RDONLY).readAll(limit: 1 << 20)
        return Upload(source: source, size: size, description: String(decoding: text, as: UTF8.self))
    }

    /// Adds an upload to the history of the chat under a new name, with its description.
    func offer(_ upload: Upload) -> ScriptedMessage {
        let id = state.withLock { state in
            state.last += 1
            state.uploads[state.last] = upload
            return state.last
        }
        let message = ScriptedMessage(
            id: id, contact: 1, name: "offer \(id).bin", size: Int64(upload.size))
        chats.simplex.change { state in
            state.history.append(message)
            state.descriptions[message.fileID] = upload.description
        }
        return message
    }

    /// Reads an offer on an idle mount, and waits until the core has it too. Compares every byte.
    func read(_ message: ScriptedMessage, _ mount: Mounted) async throws -> FileWork.Reading {
        let id = message.id
        guard let upload = state.withLock({ $0.uploads[id] }) else {
            throw BenchError(.wrong, "A file was read that was never offered.")
        }
        let path = mount.path + "/bob/" + message.name
        try await stage.wait(for: "the offer") { access(path, F_OK) == 0 }
        try await mount.figures.rest(on: stage)
        let reading = try await ThreadPool.shared.run { () throws(SystemError) in try FileWork.read(path) }
        let expected = try await ThreadPool.shared.run { () throws(SystemError) in
            try FileWork.read(upload.source)
        }
        try reading.requireSum(expected.sum)
        try await stage.wait(for: "the core's own copy") {
            try state.withLock { try $0.received[id]?.get() } != nil
        }
        return reading
    }

    /// Called on the thread of the command, which is answered meanwhile.
    func receive(_ message: ScriptedMessage) {
        Task { [self] in
            let outcome: Result<Void, any Error>
            do {
                outcome = .success(try await fetch(message))
            } catch {
                outcome = .failure(error)
            }
            state.withLock { $0.received[message.id] = outcome }
        }
    }

    private func fetch(_ message: ScriptedMessage) async throws {
        guard let upload = state.withLock({ $0.uploads[message.id] }) else { return }
        let description = stage.path("core-\(message.id).xftp")
        let plain = stage.path("core-\(message.id)")
        let file = try OpenFile(description, flags: O_WRONLY | O_CREAT | O_EXCL)
        try file.write(Array(upload.description.utf8), at: 0)
        try await stage.run(Stage.chatfs, ["file", "receive", description, "--out", plain])
        let name = "received-\(message.id)"
        let arguments = try await stage.run(
            Stage.chatfs, ["cryptofile", "encrypt", plain, chats.filesFolder + "/" + name])
        unlink(plain)
        chats.simplex.complete(
            message.id, path: name, cryptoArguments: arguments.split(separator: "\n").first.map(String.init))
    }
}
