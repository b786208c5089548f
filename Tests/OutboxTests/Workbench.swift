import Base
import ChatCore
import Glibc
import Posix
import TestSupport
import Testing

@testable import Outbox

let alice = ChatReference.direct(7)
let bob = ChatReference.direct(8)
let notes = ChatReference.notes(1)

func name(_ text: String) -> [UInt8] { Array(text.utf8) }

/// Returns `count` varying bytes.
func pattern(_ count: Int, seed: UInt8 = 1) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) &+ seed }
}

/// An outbox with a core, in its own folder, with a stopped clock.
final class Workbench: Sendable {
    let folder: TemporaryFolder
    let core: RecordingCore
    let clock: ManualClock
    let outbox: Outbox
    private let seen: Lock<[OutboxChange]>

    static let quietTime = Duration.seconds(1)

    init(
        in folder: TemporaryFolder? = nil, core: RecordingCore? = nil, clock: ManualClock = ManualClock(),
        maxFileSize: UInt64 = 1_000_000, boot: String = "first boot", starts: Bool = true,
        step: @escaping @Sendable (OutboxStep) -> Void = { _ in },
        completion: @escaping MessageCompletion = { $0 }
    ) throws {
        let folder = try folder ?? TemporaryFolder()
        let core =
            try core
            ?? RecordingCore(
                stagingFolder: folder.path("staging"), maxFileSize: maxFileSize)
        self.folder = folder
        self.core = core
        self.clock = clock
        outbox = try Outbox(
            core: core, folder: PrivateFolder(folder.path("outbox"), purpose: "outbox"),
            quietTime: Self.quietTime, completion: completion, clock: clock, wallClock: clock, boot: boot,
            // Small, so that small tests use early copies too.
            earlyCopies: EarlyCopySlots(minSize: 128 << 10, step: 64 << 10), step: step)
        let seen = Lock<[OutboxChange]>([])
        self.seen = seen
        let changes = outbox.changes()
        Task { for await change in changes { seen.withLock { $0.append(change) } } }
        if starts { outbox.start() }
    }

    /// Creates, writes and closes a file.
    @discardableResult
    func write(_ bytes: [UInt8], to file: String, in chat: ChatReference = alice) throws -> Draft {
        let draft = try outbox.create(name: name(file), in: chat)
        defer { draft.closed(for: .writing) }
        try bytes.withUnsafeBytes { try draft.write($0, at: 0) }
        return draft
    }

    /// Advances time hour by hour, because a longer step would count as sleep.
    func live(days: Int) async throws {
        let end = outbox.context.uptime.seconds + Int64(days) * 86_400
        try await wait(until: "\(days) days have passed") {
            clock.advance(by: .seconds(3600))
            return outbox.context.uptime.seconds >= end
        }
    }

    func beQuiet() { clock.advance(by: Self.quietTime) }

    /// Waits until the core has `count` messages and nothing is running.
    func messages(_ count: Int) async throws -> [RecordingCore.Sent] {
        try await wait(until: "\(count) messages are sent") {
            core.sent.count >= count && !outbox.drafts().contains { [.queued, .sending].contains($0.state) }
        }
        return core.sent
    }

    /// Waits for the journal's replay in the background, and advances time.
    func replayed(_ count: Int) async throws -> [RecordingCore.Sent] {
        try await wait(until: "\(count) messages are sent") {
            beQuiet()
            return core.sent.count >= count
        }
        return try await messages(count)
    }

    /// Lets everything sendable be sent: waits for another file, sent last.
    func settle() async throws {
        let before = core.sent.count
        let last = try write([1], to: "the last of \(before)", in: .direct(99))
        beQuiet()
        try await changes { if case .became(let draft, _) = $0 { draft == last } else { false } }
    }

    func changes(until isThere: @escaping @Sendable (OutboxChange) -> Bool) async throws {
        try await wait(until: "the change is told") { seen.withLock { $0.contains(where: isThere) } }
    }

    func content(of draft: Draft) throws -> [UInt8] {
        let size = Int(draft.snapshot.size)
        return try [UInt8](unsafeUninitializedCapacity: size) { buffer, filled in
            filled = try draft.read(into: UnsafeMutableRawBufferPointer(buffer), at: 0)
        }
    }

    func states() -> [DraftState] { outbox.drafts().map(\.state) }
}

/// Convenience for tests that do not care about the opening: uses the last one.
extension Draft {
    private var latest: DraftOpening {
        DraftOpening(.writing, machine.writers.openings.keys.max() ?? 0)
    }

    func closed(for access: DraftAccess) { closed(access == .writing ? latest : DraftOpening(.reading, 0)) }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(OutboxError) {
        try write(bytes, at: offset, through: latest, by: getpid())
    }

    func truncate(to size: UInt64) throws(OutboxError) { try truncate(to: size, through: nil, by: 0) }

    func write(_ text: String, at offset: UInt64 = 0) throws {
        try Array(text.utf8).withUnsafeBytes { try write($0, at: offset) }
    }
}

/// Copies a folder as a crash would leave it, also while it is in use: inner folders first, because a mark in the spool
/// is removed after its row was written.
func copyFolder(_ source: String, to target: String) throws {
    try check("make a folder") { mkdir(target, 0o700) }
    let folder = try OpenFile(source, flags: O_RDONLY)
    let entries = try PrivateFolder.names(in: folder).map { name in
        (name, file: try OpenFile(name, flags: O_RDONLY, in: folder))
    }
    for isFolder in [true, false] {
        for (entry, file) in entries where try (file.status().st_mode & S_IFMT == S_IFDIR) == isFolder {
            if isFolder {
                try copyFolder(source + "/" + entry, to: target + "/" + entry)
                continue
            }
            let copy = try OpenFile(target + "/" + entry, flags: O_WRONLY | O_CREAT | O_EXCL)
            try copy.write(try file.read(count: Int(try file.size()), at: 0), at: 0)
            let mode = try file.status().st_mode & 0o777
            try check("set a mode") { fchmod(copy.descriptor, mode) }
        }
    }
}
