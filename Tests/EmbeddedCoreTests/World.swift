import Base
import ChatCore
import CoreContract
import Cryptography
import Glibc
import Posix
import Store
import TestSupport
import Testing

@testable import EmbeddedCore

/// A clock set by tests.
final class ManualClock: WallClock, BootClock {
    private let time = Lock((wall: Timestamp(seconds: 1_800_000_000), passed: ElapsedTime(seconds: 1000)))
    func now() -> Timestamp { time.withLock { $0.wall } }
    func reading() -> BootReading {
        BootReading(boot: "test", nanoseconds: time.withLock { $0.passed.nanoseconds })
    }

    /// Advances both clocks.
    func advance(by duration: Duration) {
        time.withLock {
            $0.wall = $0.wall.advanced(by: duration)
            $0.passed = $0.passed.advanced(by: duration)
        }
    }

    /// Sets the wall clock only.
    func jump(by duration: Duration) { time.withLock { $0.wall = $0.wall.advanced(by: duration) } }
}

/// A data directory with profiles and an in-memory relay.
struct World {
    let folder: TemporaryFolder
    let clock = ManualClock()
    let relay: MemoryRelay
    let directory: DataDirectory

    init(_ profiles: [String] = ["alice", "bob"], relay: MemoryRelay = MemoryRelay()) throws {
        folder = try TemporaryFolder()
        self.relay = relay
        directory = try DataDirectory(folder.path("data"), clock: clock, bootClock: clock)
        for name in profiles { _ = try directory.createProfile(name) }
    }

    /// The database as opened by another program.
    func database() throws -> Database {
        try Database(path: directory.path + "/chatfs.db", migrations: Schema.migrations)
    }

    /// Opens a profile as another process does.
    func open(
        _ name: String, mountpoint: String? = nil, relays: [RelayWithPassword] = [MemoryRelay.relay],
        lockTimeout: Duration = .seconds(10), arrivals: ArrivalRule = ArrivalRule()
    ) async throws -> EmbeddedCore {
        let directory = try DataDirectory(folder.path("data"), clock: clock, bootClock: clock)
        return try await EmbeddedCore.open(
            directory, profile: name, mountpoint: mountpoint, relays: relays, arrivals: arrivals,
            transfers: relay,
            retry: RetryPolicy(first: .milliseconds(5), maxDelay: .milliseconds(20), tries: .max),
            lockTimeout: lockTimeout)
    }
}

/// Bytes in which all blocks of 4 KiB differ.
func pattern(_ count: Int) -> [UInt8] {
    let block = (0..<4088).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count + 4096)
    while bytes.count < count {
        bytes.append(bigEndian: UInt64(bytes.count))
        bytes += block
    }
    return Array(bytes.prefix(count))
}

extension EmbeddedCore {
    /// Stages bytes like the outbox and composes a message.
    func compose(
        _ bytes: [UInt8], name: String = "report.pdf", id: String = UUIDText.fresh(),
        kind: MessageContent.Kind = .file
    ) throws -> ComposedMessage {
        let path = stagingFolder + "/" + UUIDText.fresh()
        let arguments = CryptoFile.freshArguments()
        let file = try OpenFile(path, flags: O_RDWR | O_CREAT | O_EXCL)
        let writer = try CryptoFileWriter(file: file, arguments: arguments)
        try writer.append(bytes)
        try writer.finish()
        return ComposedMessage(
            id: id, fileName: name, size: UInt64(bytes.count),
            source: FileSourceLocation(path: path, arguments: arguments),
            content: MessageContent(kind: kind, text: "caption"))
    }

    /// Stages bytes in the form of the relays, like the outbox, and composes a message.
    func composeStream(_ bytes: [UInt8], _ form: StreamForm) throws -> ComposedMessage {
        var message = try compose([])
        var arguments = CryptoFile.freshArguments()
        let file = try OpenFile(message.source.path, flags: O_RDWR | O_TRUNC)
        let writer = try StreamFileWriter(file: file, arguments: arguments, header: form.header(0))
        message.size = UInt64(bytes.count)
        try bytes.withUnsafeBytes { try writer.append($0) }
        arguments.content = try writer.finish(
            header: form.header(message.size), length: form.length(message.size))
        message.source.arguments = arguments
        return message
    }

    /// Stages bytes as they come over XFTP, with a header before and padding after them.
    func stageStream(_ bytes: [UInt8]) throws -> FileSourceLocation {
        let stream = Array("header".utf8) + bytes + [UInt8](repeating: 35, count: 5000)
        var source = try compose(stream).source
        source.arguments?.content = 6..<6 + UInt64(bytes.count)
        return source
    }

    func chat(named name: String) async throws -> ChatReference {
        let chats = try await chats()
        return try #require(chats.first { $0.displayName == name }).reference
    }

    func newest(in name: String) async throws -> ChatItem {
        let items = try await items(of: chat(named: name), before: nil, count: 1)
        return try #require(items.first)
    }

    /// Returns the newest item once its status matches.
    func item(in name: String, when condition: @escaping (FileStatus) -> Bool) async throws -> ChatItem {
        try await wait(for: "an item in \(name) of the wanted status") {
            let chat = try await chat(named: name)
            let item = try await items(of: chat, before: nil, count: 1).first
            return item?.file.map { condition($0.status) } == true ? item : nil
        }
    }
}

enum UUIDText {
    static func fresh() -> String { Hexadecimal.encode(SystemRandomSource().bytes(16)) }
}

extension ChatItem {
    /// The plaintext of the item's file.
    func content() throws -> [UInt8] {
        let source = try #require(file?.source)
        let arguments = try #require(source.arguments)
        let reader = try CryptoFileReader(file: OpenFile(source.path, flags: O_RDONLY), arguments: arguments)
        var bytes: [UInt8] = []
        try reader.decrypt { bytes.append(contentsOf: $0) }
        return bytes
    }
}

/// Collects the events of a core.
final class Listener: Sendable {
    let events = Lock<[ChatEvent]>([])
    private let task: Task<Void, Never>

    init(_ core: EmbeddedCore) {
        let stream = core.events()
        let events = events
        task = Task {
            for await event in stream { events.withLock { $0.append(event) } }
        }
    }

    deinit { task.cancel() }

    /// Names of the events so far.
    var names: [String] {
        events.withLock { $0.map(\.name) }
    }

    func waits(for name: String, times: Int = 1) async throws {
        try await wait(until: "\(name) has come; so far \(names)") {
            names.filter { $0 == name }.count >= times
        }
    }
}

/// Returns the error of a command; records an issue if it succeeds.
func refusal<Result>(
    _ body: () async throws -> Result, at location: SourceLocation = #_sourceLocation
) async -> ChatError? {
    do {
        _ = try await body()
        Issue.record("The command was not refused.", sourceLocation: location)
        return nil
    } catch {
        return error as? ChatError
    }
}
