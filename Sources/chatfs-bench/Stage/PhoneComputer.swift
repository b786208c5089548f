import Base
import Glibc
import Network
import Posix
import RemoteControl

/// A computer that mounts a phone. Its mounts share their data.
struct PhoneComputer: Sendable {
    private let name: String
    private let stage: Stage

    init(_ name: String, on stage: Stage) { (self.name, self.stage) = (name, stage) }

    private var path: String { stage.path("mount-" + name) }

    /// Starts `chatfs phone`. Returns its process and the link.
    private func start() async throws -> (process: ObservedProcess, link: String) {
        if access(path, F_OK) != 0 { _ = try stage.makeFolder("mount-" + name) }
        let process = try await stage.start(
            Stage.chatfs,
            [
                "phone", path, "--notifications", "off", "--listen", "127.0.0.1", "--data",
                stage.path("data-" + name), "--cache-dir", stage.path("cache-" + name),
            ])
        guard let link = await process.line(within: .seconds(30), where: { $0.hasPrefix("xrcp:/") }) else {
            throw stage.failure("chatfs phone", process)
        }
        return (process, link)
    }

    /// Mounts and connects the phone.
    /// - Returns: The mount, and the seconds from the confirmed code to the first listed chat.
    func mount(_ phone: PhoneProgram) async throws -> (mount: Mounted, firstChat: Double) {
        let (process, link) = try await start()
        let code = try await phone.connect(link)
        let start = ContinuousClock.now
        try await phone.confirm(code)
        let mount = try await Mounted.waiting(for: process, at: path, type: "fuse.chatfs", on: stage)
        try await stage.wait(for: "the first chat") { try !mount.chats.isEmpty }
        return (mount, FileWork.seconds(since: start))
    }

    /// Mounts without the phone, which was connected before.
    func mountAway() async throws -> Mounted {
        try await Mounted.waiting(for: start().process, at: path, type: "fuse.chatfs", on: stage)
    }
}

extension Mounted {
    /// The folders of its chats. Blocks.
    var chats: [String] {
        get throws { try NameWork.paths(in: path).filter { !$0.hasSuffix("/.chatfs") } }
    }
}

/// A session with the phone that discards a file: the transfer without the index, cache and mount of ChatFS.
enum BareTransfer {
    private final class Discarded: BodySink {
        func receive(_ bytes: UnsafeRawBufferPointer) {}
    }

    /// Returns the seconds from the request to the verified end.
    static func seconds(
        _ file: PhoneProgram.File, from phone: PhoneProgram, on stage: Stage
    ) async throws -> Double {
        guard let first = AppVersion("6.3"), let last = AppVersion("99.0"),
            let versions = AppVersionRange(first, last)
        else { throw BenchError(.failed, "The versions of the phone are wrong.") }
        let session = Lock<PhoneConnection?>(nil)
        let listener = try PhoneListener.start(
            PhoneListenerSettings(
                endpoint: Endpoint(host: "127.0.0.1", port: 0), versions: versions,
                name: DeviceName("bench")),
            pairing: .make(), time: Int64(time(nil)), remember: { _ in },
            observe: { event in
                if case .connected(let connection) = event { session.withLock { $0 = connection } }
            })
        do {
            try await phone.confirm(phone.connect(listener.link))
            try await stage.wait(for: "a session") { session.withLock { $0 != nil } }
            guard let connection = session.withLock({ $0 }) else { return 0 }
            let start = ContinuousClock.now
            let answer = try await connection.ask(
                .fetchFile(
                    PhoneFile(user: 1, file: file.number, isSent: true, path: file.name, arguments: nil)),
                file: Discarded())
            guard case .file = answer else {
                throw BenchError(.failed, "The phone did not send the file.")
            }
            let seconds = FileWork.seconds(since: start)
            await listener.stop()
            return seconds
        } catch {
            await listener.stop()
            throw error
        }
    }
}
