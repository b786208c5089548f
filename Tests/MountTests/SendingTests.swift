import Base
import Cryptography
import Glibc
import Posix
import TestSupport
import Testing

@Suite("Sending through an unresponsive daemon", .serialized)
struct SendingTests {
    private func arguments(_ mounts: TwoMounts, _ file: String, _ more: [String] = []) -> [String] {
        ["send", file, "bob", "--profile", "alice", "--data", mounts.data] + more
    }

    private func received(_ mounts: TwoMounts) throws -> [String] {
        try mounts.folder.names(in: "bob/alice").sorted()
    }

    private func staged(_ mounts: TwoMounts) -> [String] {
        ((try? mounts.folder.names(in: "data/profiles/1/staging")) ?? []).filter { $0.hasPrefix("send-") }
    }

    @Test("Ctrl-C ends at once; nothing is sent later")
    func interrupted() async throws {
        let mounts = try await TwoMounts.start()
        let file = try mounts.folder.write(TwoMounts.bytes(50_000), to: "report.bin")
        let daemon = try mounts.daemon("alice")
        daemon.send(SIGSTOP)
        // During its request to the daemon.
        let command = try await PendingConnections.wait {
            try await ChatFSProcess.start(arguments(mounts, file))
        }
        command.send(SIGINT)
        // The daemon stays stopped, so only the signal ends the command.
        #expect(try await command.ending() == .code(130))
        #expect(command.errors.contains("nothing was sent"), "\(command.errors)")
        daemon.send(SIGCONT)
        try await mounts.run(["send", file, "bob", "--profile", "alice"])
        try await mounts.waitForFile("bob/alice/report.bin")
        #expect(try received(mounts) == ["report.bin"])
        #expect(staged(mounts).isEmpty)
    }

    @Test("repetitions during a stop send once")
    func stoppedWithTheRequest() async throws {
        let mounts = try await TwoMounts.start()
        let file = try mounts.folder.write(TwoMounts.bytes(200_000_000), to: "big.bin")
        let daemon = try mounts.daemon("alice")
        let staging = try StagingWatch(mounts.path("data/profiles/1/staging"))
        let first = try await ChatFSProcess.start(arguments(mounts, file))
        try await staging.stop(daemon, whenStagedBy: first)
        try await wait(until: "the request is noted", within: .seconds(300)) {
            try mounts.folder.names(in: "data/profiles/1/unanswered").contains { !$0.hasPrefix(".") }
        }
        // It then sends the request and waits.
        try await Task.sleep(for: .milliseconds(300))
        first.send(SIGINT)
        #expect(try await first.ending() == .code(130))
        #expect(first.errors.contains("Repeating the command is safe"), "\(first.errors)")
        // One that waits while the daemon is stopped, and one afterwards.
        let second = try await PendingConnections.wait {
            try await ChatFSProcess.start(arguments(mounts, file))
        }
        daemon.send(SIGCONT)
        #expect(try await second.ending(within: .seconds(60)) == .code(0), "\(second.errors)")
        try await mounts.waitForFile("bob/alice/big.bin")
        #expect(try mounts.folder.names(in: "data/profiles/1/unanswered").isEmpty)
        #expect(try received(mounts) == ["big.bin"])
        // After an answer, an equal request is a new one.
        let small = try mounts.folder.write(TwoMounts.bytes(10), to: "small.bin")
        for _ in 1...2 { try await mounts.run(["send", small, "bob", "--profile", "alice"]) }
        try await mounts.waitForFile("bob/alice/small (2).bin")
        #expect(try received(mounts) == ["big.bin", "small (2).bin", "small.bin"])
        #expect(staged(mounts).isEmpty)
    }

    @Test(
        "after a daemon's kill the repetition sends once")
    func killedWithTheRequest() async throws {
        let mounts = try await TwoMounts.start()
        let file = try mounts.folder.write(TwoMounts.bytes(120_000_000), to: "big.bin")
        let daemon = try mounts.daemon("alice")
        let staging = try StagingWatch(mounts.path("data/profiles/1/staging"))
        let first = try await ChatFSProcess.start(arguments(mounts, file))
        try await staging.stop(daemon, whenStagedBy: first)
        try await wait(until: "the request is noted", within: .seconds(300)) {
            try mounts.folder.names(in: "data/profiles/1/unanswered").contains { !$0.hasPrefix(".") }
        }
        // A guessed content cannot be confirmed on the disk.
        for name in try mounts.folder.names(in: "data/profiles/1/unanswered") {
            for number in 1...9 {
                #expect(
                    !name.contains(try plainMark("@\(number)", "big.bin", "", mounts.folder.read("big.bin"))))
            }
        }
        daemon.send(SIGKILL)
        #expect(try await first.ending() == .code(1))
        #expect(first.errors.contains("Repeating the command is safe"), "\(first.errors)")
        try await mounts.run(["send", file, "bob", "--profile", "alice"])
        try await mounts.waitForFile("bob/alice/big.bin")
        #expect(try received(mounts) == ["big.bin"])
        #expect(try mounts.folder.names(in: "data/profiles/1/unanswered").isEmpty)
        #expect(try await ChatFSProcess.run(["unmount", mounts.path("alice")]).succeeded)
    }
}

/// The digest of content and destination, from which a mark is derived.
private func plainMark(_ chat: String, _ name: String, _ caption: String, _ bytes: [UInt8]) -> String {
    var (hash, content) = (SHA256(), SHA256())
    for text in [chat, name, caption] {
        let bytes = Array(text.utf8)
        hash.update(Array("\(bytes.count):".utf8) + bytes)
    }
    content.update(bytes)
    hash.update(content.finalize())
    return Hexadecimal.encode(hash.finalize())
}

/// Stops a daemon at the moment in which a command begins staging. A thread waits in inotify(7), because a task of a
/// busy test run would be too late.
private struct StagingWatch {
    private let events: OpenFile

    /// Must be created before the command starts.
    init(_ folder: String) throws {
        events = OpenFile(adopting: try check("watch a folder") { inotify_init1(Int32(IN_CLOEXEC)) })
        try check("watch a folder") {
            inotify_add_watch(events.descriptor, folder, UInt32(IN_CREATE | IN_MOVED_TO))
        }
    }

    func stop(_ daemon: RunningProcess, whenStagedBy command: RunningProcess) async throws {
        let isStaged = await withCheckedContinuation { continuation in
            Thread.start("stopper") {
                var request = pollfd(fd: events.descriptor, events: Int16(POLLIN), revents: 0)
                let isStaged = Glibc.poll(&request, 1, 90_000) == 1
                if isStaged { daemon.send(SIGSTOP) }
                continuation.resume(returning: isStaged)
            }
        }
        guard isStaged else {
            throw WaitedInVain(
                "nothing was staged; still running: \(command.isRunning), \(command.output)\(command.errors)")
        }
    }
}
