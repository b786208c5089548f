import Glibc
import Posix

/// Profiles in one data directory that share a group, and the mounts of its members. A file copied into the group's
/// folder appears in the others' folders.
struct Chats: Sendable {
    static let group = "bench"
    private let stage: Stage
    private let data: String

    /// Creates the profiles and the group, whose first member sends.
    ///
    /// - Parameter encrypted: Whether the data is encrypted.
    static func make(
        _ members: [String], in name: String = "data", encrypted: Bool = true, on stage: Stage
    ) async throws -> Chats {
        let chats = Chats(stage: stage, data: stage.path(name))
        let clear = encrypted ? [] : ["--no-encryption"]
        for member in members { try await chats.run(["profile", "create", member] + clear) }
        try await chats.run(["group", "create", group] + members)
        return chats
    }

    private func run(_ arguments: [String]) async throws {
        try await stage.run(Stage.chatfs, arguments + ["--data", data])
    }

    /// Mounts a profile. With a quiet time of 0, a file is sent as soon as it is closed.
    func mount(_ member: String, relays: [String], _ more: [String] = []) async throws -> Mounted {
        try await stage.mount(
            member,
            ["--profile", member, "--quiet-time", "0", "--data", data]
                + relays.flatMap { ["--relay", $0] } + more)
    }

    /// Copies `source` into the group with cp and waits until it is sent and visible to `receiver`, if there is one.
    func send(
        _ source: String, as name: String, from sender: Mounted, to receiver: Mounted? = nil
    ) async throws -> Sending {
        let sending = try await stage.send(source, to: sender.inGroup(name))
        if let receiver {
            let received = receiver.inGroup(name)
            try await stage.wait(for: "\(name) at its receiver") { access(received, F_OK) == 0 }
        }
        return sending
    }
}

/// The seconds for a sent file.
struct Sending: Sendable {
    /// From the state queued, complete and durable, until the relay or the phone had all of it.
    let fromQueued: Double
    /// From the start of cp.
    let whole: Double
}

extension Stage {
    /// Copies `source` with cp to an entry of a chat, and waits until it is sent, or stored in notes.
    func send(_ source: String, to path: String) async throws -> Sending {
        let start = ContinuousClock.now
        try await run("/bin/cp", [source, path])
        var queued: ContinuousClock.Instant?
        try await wait(for: "the upload of \(path)") {
            let state = try ExtendedAttribute.text("user.chatfs.state", of: path)
            if queued == nil, state != "draft" { queued = .now }
            guard state != "failed" else { throw BenchError(.failed, "\(path) could not be sent.") }
            return ["sent", "delivered", "stored"].contains(state)
        }
        let end = ContinuousClock.now
        return Sending(
            fromQueued: (end - (queued ?? end)) / .seconds(1), whole: (end - start) / .seconds(1))
    }
}

extension Mounted {
    /// A file in the group.
    func inGroup(_ name: String) -> String { path + "/" + Chats.group + "/" + name }
}

/// `chatfs relay`, as a child of the stage.
struct OwnRelay: Sendable {
    let process: ObservedProcess
    let address: String

    static func start(on stage: Stage) async throws -> OwnRelay {
        let process = try await stage.start(
            Stage.chatfs, ["relay", "--listen", "127.0.0.1:0", "--dir", stage.path("relay"), "--no-smp"])
        guard let address = await process.line(within: .seconds(30), where: { $0.hasPrefix("xftp://") })
        else { throw stage.failure("The relay", process) }
        return OwnRelay(process: process, address: address)
    }
}
