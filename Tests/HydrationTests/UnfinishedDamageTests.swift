import ChatCore
import Cryptography
import Glibc
import Posix
import TestSupport
import Testing

@testable import Hydration

/// Bits change in the file during the download. No wrong byte is served or kept.
@Suite(.timeLimit(.minutes(10))) struct UnfinishedDamageTests {
    private static let chunk: UInt64 = 1 << 20
    private static let size: UInt64 = 10 << 20

    /// A file whose first chunks have arrived, and whose last waits for the gate.
    private static func stage(
        keepsStream: Bool, last: Int = 10
    ) async throws -> (Stage, MemorySource, HydratedFile, Gate) {
        let stage = try Stage(settings: .readingFromDisk)
        stage.core.state.withLock { $0.keepsStreams = keepsStream }
        let source = MemorySource(size: size, chunkSize: UInt32(chunk))
        let gate = Gate()
        source.behaviour.withLock { $0.gates[last] = gate }
        let file = stage.hydrator.open(stage.offer(source))
        let before = UInt64(last) * chunk - 100_000
        for start in stride(from: 0, to: before, by: Int(chunk / 2)) {
            _ = try await file.bytes(start..<start + 1)
        }
        try await wait(until: "all but the last have passed") {
            guard case .chunks(_, let chunks) = stage.machine(of: FileID(1))?.phase else { return false }
            return chunks.states.count { $0 == .stored } == last
        }
        return (stage, source, file, gate)
    }

    /// Flips one bit of the unnamed file.
    private static func flip(at position: UInt64, on stage: Stage) throws {
        let file = try #require(stage.openFiles(in: "staging").first)
        let before = try file.read(count: 1, at: position)
        try #require(before.count == 1)
        try file.write(before.map { $0 ^ 4 }, at: position)
    }

    private static func expectKept(on stage: Stage) async throws {
        let kept = try await wait(for: "the copy that is kept") {
            stage.core.state.withLock { $0.completed[FileID(1)] }
        }
        let reader = try CryptoFileReader(
            file: OpenFile(kept.path, flags: O_RDONLY), arguments: try #require(kept.arguments))
        var bytes: [UInt8] = []
        try reader.decrypt { bytes += $0 }
        #expect(bytes == Pattern.bytes(0..<size, seed: 1))
    }

    @Test(arguments: [0, 65_535, 65_536, 1_048_560, 1_048_570, 3_333_333] as [UInt64], [false, true])
    func flippedBitIsNotServedAndFetchedAgain(
        position: UInt64, keepsStream: Bool
    ) async throws {
        let (stage, source, file, gate) = try await Self.stage(keepsStream: keepsStream)
        try Self.flip(at: UInt64(source.header.count) + position, on: stage)
        let range = position / 1000 * 1000..<position + 5000
        let found = try await file.bytes(range)
        #expect(found.elementsEqual(Pattern.bytes(range, seed: 1)))
        let chunk = Int((UInt64(source.header.count) + position) / Self.chunk)
        #expect(source.fetches.count { $0 == chunk } == 2)
        gate.open()
        try await Self.expectKept(on: stage)
        #expect(try await file.bytes(0..<Self.size) == Pattern.bytes(0..<Self.size, seed: 1))
        await stage.hydrator.shutDown()
    }

    @Test(arguments: [false, true])
    func unreadDamageIsFoundBeforeKeeping(keepsStream: Bool) async throws {
        let (stage, source, file, gate) = try await Self.stage(keepsStream: keepsStream)
        let fetches = source.fetches.count
        for position in [10, 2_000_000, 7_654_321] as [UInt64] { try Self.flip(at: position, on: stage) }
        gate.open()
        try await Self.expectKept(on: stage)
        #expect(source.fetches.count >= fetches + 3)
        #expect(try await file.bytes(0..<Self.size) == Pattern.bytes(0..<Self.size, seed: 1))
        await stage.hydrator.shutDown()
    }

    @Test func damagedHeaderOfKeptStreamIsRepaired() async throws {
        let (stage, source, file, gate) = try await Self.stage(keepsStream: true)
        let fetches = source.fetches.count
        try Self.flip(at: 3, on: stage)
        gate.open()
        try await Self.expectKept(on: stage)
        #expect(source.fetches.count > fetches)
        let kept = try #require(stage.core.state.withLock { $0.completed[FileID(1)] })
        #expect(kept.arguments?.key == source.arguments.key)
        #expect(try await file.bytes(0..<Self.size) == Pattern.bytes(0..<Self.size, seed: 1))
        await stage.hydrator.shutDown()
    }

    @Test(arguments: [false, true])
    func laterDamageIsNotServedToOpenHandles(keepsStream: Bool) async throws {
        let (stage, source, file, gate) = try await Self.stage(keepsStream: keepsStream)
        gate.open()
        let kept = try await wait(for: "the copy that is kept") {
            stage.core.state.withLock { $0.completed[FileID(1)] }
        }
        try await wait(until: "it is served") { stage.hydrator.context.registry[FileID(1)]?.whole != nil }
        #expect(try await file.bytes(0..<1000) == Pattern.bytes(0..<1000, seed: 1))
        let stored = try OpenFile(kept.path, flags: O_RDWR)
        try stored.write(try stored.read(count: 1, at: 5_000_000).map { $0 ^ 1 }, at: 5_000_000)
        // This core cannot offer it again.
        let place: Range<UInt64> = 4_990_000..<5_010_000
        let error = await #expect(throws: ReadFailure.self) { _ = try await file.bytes(place) }
        #expect(error?.problem.kind == .damaged)
        withExtendedLifetime(source) {}
        await stage.hydrator.shutDown()
    }
}
