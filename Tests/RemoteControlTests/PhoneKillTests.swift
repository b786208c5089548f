import Base
import Glibc
import Posix
import ScriptedCore
import TestSupport
import Testing

/// Kills `chatfs phone` while a phone sends a file, stores one, or sends a message. `CHATFS_PHONE_KILLS` sets the
/// number of kills.
@Suite("ChatFS is killed during requests to a phone", .serialized)
struct PhoneKillTests {
    private static let count = getenv("CHATFS_PHONE_KILLS").flatMap { Int(String(cString: $0)) } ?? 5

    /// A moment of a kill.
    private enum Moment: CaseIterable {
        /// Before and during the answer to `getFile`.
        case fetchAsked, fetchAnswered
        /// After a part of a file to store, and before the answer.
        case storeArrives, storeAnswered
        /// Before and after the message is made.
        case sendAsked, sendAnswered
        /// The phone loses the command.
        case sendLost
    }

    private final class Run {
        let folder: TemporaryFolder
        let phone: ChatPhone
        private let desk: PhoneMountPlace
        private var generator = SeededGenerator(state: 38)
        /// Those that `cp` began, and reported as complete.
        private var begun: [String: [UInt8]] = [:]
        private var copied: Set<String> = []
        private(set) var lost = 0

        init(files: Int) throws {
            folder = try TemporaryFolder()
            phone = try ChatPhone()
            desk = try PhoneMountPlace()
            for number in 0..<files {
                let content = SeededBytes(UInt64(number)).bytes(600_000 + number)
                phone.put(content, as: "in-\(number).bin")
                phone.core.change { state in
                    var message = ScriptedMessage(
                        id: Int64(number + 1), contact: 1, name: "in-\(number).bin",
                        size: Int64(content.count))
                    message.status = #"{"type":"rcvComplete"}"#
                    message.path = "in-\(number).bin"
                    state.history.append(message)
                }
            }
        }

        private func connect() async throws {
            try await desk.mount(["--quiet-time", "0"])
            try phone.connect(to: try await desk.link())
            try await desk.waitUntilMounted()
            let path = desk.folder.path("Phone/bob/in-0.bin")
            try await wait(until: "its files are listed") { access(path, F_OK) == 0 }
        }

        func round(_ number: Int, _ moment: Moment) async throws {
            try await connect()
            let kills = try killing(moment)
            let name = "out-\(number).bin"
            let content = SeededBytes(UInt64(1000 + number)).bytes(700_000 + number)
            let source = try folder.write(content, to: name)
            // Both fail when the mount is killed under them.
            let work = try await Shell.script(
                #"""
                cp "$SOURCE" "$MOUNT/" && echo copied
                cat "$MOUNT/in-$NUMBER.bin" > "$READ" && echo read
                """#,
                environment: [
                    "MOUNT": desk.folder.path("Phone/bob"), "NUMBER": "\(number)", "SOURCE": source,
                    "READ": folder.path("read-\(number)"),
                ])
            try await wait(until: "it is killed at \(moment)") { kills.withLock { $0 } }
            phone.watch(ChatPhone.Watch())
            try await desk.waitUntilKilled()
            phone.leave()
            begun[name] = content
            if work.output.contains("copied") { copied.insert(name) }
            let read = try folder.read("read-\(number)")
            let whole = phone.files["in-\(number).bin"] ?? []
            #expect(work.output.contains("read") ? read == whole : whole.starts(with: read))
        }

        /// Kills the mount once at this moment, on the phone's thread.
        private func killing(_ moment: Moment) throws -> Lock<Bool> {
            let daemon = try #require(desk.daemon)
            let isKilled = Lock(false)
            let kill: @Sendable () -> Bool = {
                let isFirst = isKilled.withLock { isKilled in
                    defer { isKilled = true }
                    return !isKilled
                }
                if isFirst { daemon.send(SIGKILL) }
                return isFirst
            }
            var watch = ChatPhone.Watch()
            let word =
                switch moment {
                case .fetchAsked, .fetchAnswered: #""type":"getFile""#
                case .storeArrives, .storeAnswered: #""type":"storeFile""#
                case .sendAsked, .sendAnswered, .sendLost: "/_send "
                }
            switch moment {
            case .storeArrives: watch.arrives = { if $0 > 300_000 { _ = kill() } }
            case .fetchAsked, .sendAsked:
                watch.asked = { text in
                    if text.contains(word) { _ = kill() }
                    return true
                }
            case .sendLost:
                watch.asked = { text in !(text.contains(word) && kill()) }
            case .fetchAnswered:
                let delay = UInt32.random(in: 0...20_000, using: &generator)
                watch.answers = { text in
                    guard text.contains(word) else { return }
                    Thread.start("kill") {
                        usleep(delay)
                        _ = kill()
                    }
                }
            case .storeAnswered, .sendAnswered:
                watch.answers = { if $0.contains(word) { _ = kill() } }
            }
            phone.watch(watch)
            return isKilled
        }

        /// Everything is read, and each copy sent once; an unsure one after a retry.
        func finish(files: Int) async throws {
            try await connect()
            for name in copied {
                try await wait(until: "\(name) is sent or unsure") {
                    !sent(name).isEmpty || (try? desk.state(name)) == "unsure"
                }
            }
            try await wait(until: "no copy waits") {
                try desk.states().contains("queued") == false
            }
            for name in copied where sent(name).isEmpty {
                lost += 1
                let path = desk.folder.path("Phone/bob/" + name)
                #expect(try desk.state(name) == "unsure", "\(name)")
                #expect(try await desk.run(["retry", path, "--yes"], isWithData: false).succeeded)
                try await wait(until: "\(name) is sent") { !sent(name).isEmpty }
            }
            for (name, content) in begun {
                let paths = sent(name)
                #expect(paths.count == 1 || paths.isEmpty && !copied.contains(name), "\(name)")
                for path in paths { #expect(phone.files[path] == content, "\(name)") }
            }
            for number in 0..<files {
                let whole = phone.files["in-\(number).bin"] ?? []
                #expect(try await desk.bytes("bob/in-\(number).bin") == whole)
            }
            #expect(!phone.core.commands.contains { $0.hasPrefix("/_delete") || $0.hasPrefix("/_read") })
            try await desk.leave()
        }

        /// The files of sent messages with a name, which the phone makes unique.
        private func sent(_ name: String) -> [String] {
            phone.core.change { $0.history.all.filter { $0.isSent && $0.name.hasSuffix(name) } }
                .compactMap(\.path)
        }

        var description: String { "files copied: \(copied.count), unsure: \(lost)" }
    }

    @Test func killsDuplicateLoseAndTruncateNothing() async throws {
        let moments = Moment.allCases
        let run = try Run(files: Self.count)
        for number in 0..<Self.count {
            try await run.round(number, moments[(number * 3 + 1) % moments.count])
        }
        try await run.finish(files: Self.count)
        print("kills: \(Self.count), \(run.description)")
    }
}
