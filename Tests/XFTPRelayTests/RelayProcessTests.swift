import Base
import Cryptography
import Glibc
import Network
import TestSupport
import Testing
import XFTP

/// The relay as a separate process that can be killed.
@Suite struct RelayProcessTests {
    private func start(
        _ folder: TemporaryFolder, _ more: [String] = [], ignoring ignored: [Int32] = [], host: String? = nil
    ) async throws -> (process: RunningProcess, address: RelayAddress) {
        let process = try await ChatFSProcess.start(
            ["relay", "--dir", folder.path("relay")] + more, ignoredSignals: ignored)
        let line = try await process.line("its address")
        guard let address = RelayAddress(line), address.text == line else {
            throw WaitedInVain("no bare address: \(line)")
        }
        guard let host else { return (process, address) }
        #expect(address.hosts == [host])
        return (
            process, RelayAddress(fingerprint: address.fingerprint, hosts: ["127.0.0.1"], port: address.port)
        )
    }

    @Test func acknowledgedChunksSurviveKill() async throws {
        let folder = try TemporaryFolder()
        var acknowledged: [TestChunk] = []
        var address: RelayAddress?
        for round in 0..<5 {
            let (process, shown) = try await start(folder)
            #expect(address == nil || address == shown)
            address = shown
            let kept = Lock<[TestChunk]>([])
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<3 {
                    group.addTask {
                        // Upload until the relay is dead.
                        while let talk = try? await RelayTalk(shown) {
                            while true {
                                var chunk = TestChunk(size: 1_048_576)
                                guard (try? await chunk.create(on: talk)) != nil,
                                    let answer = try? await chunk.put(on: talk), answer == .ok
                                else { break }
                                let whole = chunk
                                kept.withLock { $0.append(whole) }
                            }
                            if !process.isRunning { return }
                        }
                    }
                }
                group.addTask {
                    try await wait(until: "some chunks are there") {
                        kept.withLock { $0.count } > round * 2
                    }
                    process.send(SIGKILL)
                }
                try await group.waitForAll()
            }
            _ = try await process.ending()
            acknowledged += kept.withLock { $0 }
        }
        let (process, last) = try await start(folder)
        let talk = try await RelayTalk(last)
        for chunk in acknowledged {
            let bytes = try await chunk.get(on: talk)
            #expect(bytes == .success(chunk.bytes))
        }
        #expect(acknowledged.count >= 15)
        #expect(try folder.names(in: "relay/incoming").isEmpty)
        try await process.terminate()
    }

    @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
    func signalsStopTheRelayEvenIfIgnored(_ signal: Int32) async throws {
        let folder = try TemporaryFolder()
        let (process, address) = try await start(folder, ignoring: [SIGINT, SIGHUP])
        // With an open connection.
        let talk = try await RelayTalk(address)
        process.send(signal)
        let ending = try await process.ending()
        #expect(ending == .code(0))
        #expect(process.lines.count == 2)
        // Only the warning about the unreachable address.
        #expect(process.errors.split(separator: "\n").count == 1 && process.errors.contains("--host NAME"))
        await #expect(throws: (any Error).self) { try await talk.ask(.ping) }
    }

    @Test func optionsAreApplied() async throws {
        let folder = try TemporaryFolder()
        try folder.write(Array("s3cret\n".utf8), to: "password")
        let (process, address) = try await start(
            folder,
            [
                "--certificate", "ed448", "--quota", "100kb", "--password-file", folder.path("password"),
                "--expire",
                "24h", "--host", "relay.example",
            ], host: "relay.example")
        let talk = try await RelayTalk(address)
        #expect(talk.client.peerPublicKey.count == 69)
        var chunk = TestChunk()
        let refused = try await talk.ask(chunk.announcement(), key: chunk.sender)
        #expect(refused == .error(.authorization))
        try await chunk.create(on: talk, password: "s3cret")
        let first = try await chunk.put(on: talk)
        #expect(first == .ok)
        var second = TestChunk()
        try await second.create(on: talk, password: "s3cret")
        let full = try await second.put(on: talk)
        #expect(full == .error(.quota))
        #expect(!process.output.contains("s3cret") && !process.errors.contains("s3cret"))
        try await process.terminate()
    }

    @Test(arguments: [
        ["--listen", "nowhere"], ["--quota", "much"], ["--expire", "soon"], ["--expire", "0s"],
        ["--certificate", "rsa"], ["--password", "word"], ["--password-fd", "x"], ["--host", "two words"],
        ["--smp-unused", "0s"], ["--queues-per-hour", "0"],
    ])
    func wrongOptionsGiveOneLineAndNoFolder(_ options: [String]) async throws {
        let folder = try TemporaryFolder()
        let outcome = try await ChatFSProcess.run(["relay", "--dir", folder.path("relay")] + options)
        #expect(outcome.ending == .code(64))
        #expect(outcome.errors.split(separator: "\n").count == 1)
        #expect(try folder.names().isEmpty)
    }

    @Test func secondRelayInTheFolderFails() async throws {
        let folder = try TemporaryFolder()
        let (process, _) = try await start(folder)
        let outcome = try await ChatFSProcess.run(["relay", "--dir", folder.path("relay")])
        #expect(outcome.ending == .code(1))
        #expect(outcome.errors.contains("Another relay uses this folder."))
        try await process.terminate()
    }

    @Test func defaultFolderKeepsTheDataDirectoryUsable() async throws {
        let folder = try TemporaryFolder()
        let environment: [String: String?] = ["XDG_DATA_HOME": folder.path]
        let process = try await ChatFSProcess.start(["relay"], environment: environment)
        try await process.line("its address")
        #expect(try folder.names(in: "chatfs").contains("relay"))
        let outcome = try await ChatFSProcess.run(["profile", "create", "alice"], environment: environment)
        #expect(outcome.succeeded, "\(outcome.errors)")
        try await process.terminate()
    }

    @Test func usedAddressGivesOneLine() async throws {
        let folder = try TemporaryFolder()
        let (process, address) = try await start(folder)
        let outcome = try await ChatFSProcess.run(
            ["relay", "--dir", folder.path("other"), "--listen", "127.0.0.1:\(address.port)"])
        #expect(outcome.ending == .code(1))
        #expect(outcome.errors.split(separator: "\n").count == 1)
        #expect(outcome.errors.contains("cannot listen"))
        try await process.terminate()
    }

    @Test func foreignFolderIsNotChanged() async throws {
        let folder = try TemporaryFolder()
        _ = try folder.makeFolder("mine")
        try folder.write([1], to: "mine/thesis.txt")
        let outcome = try await ChatFSProcess.run(["relay", "--dir", folder.path("mine")])
        #expect(outcome.ending == .code(1))
        #expect(try folder.names(in: "mine") == ["thesis.txt"])
    }
}
