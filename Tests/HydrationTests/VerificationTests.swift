import Base
import ChatCore
import Cryptography
import Glibc
import Posix
import TestSupport
import Testing

@testable import Hydration

/// The check of stored files counts as progress for its readers and delays nothing else.
@Suite(.timeLimit(.minutes(10))) struct VerificationTests {
    /// A stored file with a long check: a hole with a wrong tag.
    private static func hole(_ id: Int64, size: UInt64, on stage: Stage) throws -> ChatItem {
        let path = stage.folder.path("hole-\(id)")
        try OpenFile(path, flags: O_RDWR | O_CREAT).truncate(to: size + 16)
        let source = FileSourceLocation(path: path, arguments: CryptoFile.freshArguments())
        return stage.item(id, size: size, status: .rcvComplete, source: source)
    }

    @Test func waitForACheckLastsWhileItProgresses() async throws {
        let stage = try Stage()
        let file = stage.hydrator.open(try Self.hole(1, size: 1 << 40, on: stage))
        let waiting = Task { _ = try? await file.bytes(0..<10) }
        func deadline() -> Duration? {
            stage.machine(of: FileID(1))?.waiting.readers.first?.deadline
        }
        let first = try await wait(for: "somebody waits") { deadline() }
        try await wait(until: "the deadline has moved on") { (deadline() ?? first) > first }
        await stage.hydrator.shutDown()
        await waiting.value
    }

    @Test func longChecksDelayNothing() async throws {
        let stage = try Stage()
        let waiting = try (1...8 as ClosedRange<Int64>).map { number in
            let file = stage.hydrator.open(try Self.hole(number, size: 1 << 40, on: stage))
            return Task { _ = try? await file.bytes(0..<10) }
        }
        try await wait(until: "all are being checked") {
            (1...8 as ClosedRange<Int64>).allSatisfy { number in
                let machine = stage.machine(of: FileID(number))
                return machine?.phase.name == .preparing && machine?.waiting.isEmpty == false
            }
        }
        for _ in 0..<20 { await ThreadPool.shared.run {} }
        let plain = Pattern.bytes(0..<3_000_000, seed: 5)
        let path = stage.folder.path("stored")
        let arguments = try stage.encrypted(plain, to: path)
        let small = stage.hydrator.open(
            stage.item(
                9, size: 3_000_000, status: .rcvComplete,
                source: FileSourceLocation(path: path, arguments: arguments)))
        #expect(try await small.bytes(1_000_000..<1_000_100) == Array(plain[1_000_000..<1_000_100]))
        // A check without possible users ends.
        await stage.hydrator.shutDown()
        for task in waiting { await task.value }
    }

    @Test func plainCopyIsMadeInTurns() async throws {
        var settings = HydrationSettings()
        settings.cacheMode = .plain
        settings.minimumFree = 0
        let stage = try Stage(settings: settings)
        let plain = Pattern.bytes(0..<5_000_000, seed: 3)
        let path = stage.folder.path("stored")
        let arguments = try stage.encrypted(plain, to: path)
        let file = stage.hydrator.open(
            stage.item(
                1, size: 5_000_000, status: .rcvComplete,
                source: FileSourceLocation(path: path, arguments: arguments)))
        #expect(try await file.bytes(0..<5_000_000).elementsEqual(plain))
        #expect(try file.wholePlainFile?.size() == 5_000_000)
        await stage.hydrator.shutDown()
    }
}
