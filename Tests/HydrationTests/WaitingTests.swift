import Base
import ChatCore
import Glibc
import Posix
import TestSupport
import Testing
import XFTP

@testable import Hydration

@Suite(.timeLimit(.minutes(10))) struct WaitingTests {
    /// Everything below happens while readers of an unresponsive relay wait, or the test never ends.
    @Test func fourHundredWaitingReadersDelayNothing() async throws {
        let stage = try Stage()
        let gate = Gate()
        let warm = stage.hydrator.open(stage.offer(MemorySource(size: 300_000, relay: "good"), id: 1))
        _ = try await warm.bytes(0..<1000)
        var silent: [HydratedFile] = []
        for id in 2..<102 as Range<Int64> {
            let source = MemorySource(size: 40 << 20, chunkSize: 4 << 20, relay: "silent-\(id % 3)")
            source.behaviour.withLock { $0.gate = gate }
            silent.append(stage.hydrator.open(stage.offer(source, id: id)))
        }
        let answered = Lock<[Bool]>([])
        let readers = (0..<400).map { reader in
            let file = silent[reader % silent.count]
            return Task {
                let result = try? await file.bytes(UInt64(reader) * 50_000..<UInt64(reader) * 50_000 + 10)
                answered.withLock { $0.append(result != nil) }
            }
        }
        try await wait(until: "the relays are asked") { gate.waiting >= 6 }
        for reader in readers.prefix(200) { reader.cancel() }
        for reader in readers.prefix(200) { await reader.value }
        for _ in 0..<1000 {
            #expect(warm.immediate(0..<1000) == .filled(1000))
            #expect(stage.hydrator.condition(of: FileID(50)).stage == .receiving)
        }
        // Also a remote file of a responsive relay.
        let cold = stage.hydrator.open(
            stage.offer(MemorySource(size: 8 << 20, chunkSize: 4 << 20, relay: "good", seed: 3), id: 200))
        let range: Range<UInt64> = 5_000_000..<5_001_000
        #expect(try await cold.bytes(range) == Pattern.bytes(range, seed: 3))
        #expect(answered.withLock { $0 } == [Bool](repeating: false, count: 200))
        await stage.hydrator.shutDown()
        for reader in readers { await reader.value }
        #expect(answered.withLock { $0 } == [Bool](repeating: false, count: 400))
    }

    @Test func manyReadersShareOneDownload() async throws {
        let stage = try Stage()
        let gate = Gate()
        let source = MemorySource(size: 65_536 * 3)
        source.behaviour.withLock { $0.gate = gate }
        let item = stage.offer(source)
        let files = (0..<100).map { _ in stage.hydrator.open(item) }
        let readers = files.map { file in Task { try await file.bytes(10..<20) } }
        try await wait(until: "the relay is asked") { gate.waiting == 1 }
        // Half of them give up; the others and the download continue.
        for reader in readers.prefix(50) { reader.cancel() }
        for reader in readers.prefix(50) {
            let result = await reader.result
            #expect(throws: CancellationError.self) { try result.get() }
        }
        gate.open()
        for reader in readers.suffix(50) {
            #expect(try await reader.value == Pattern.bytes(10..<20, seed: 1))
        }
        #expect(source.fetches.filter { $0 == 0 }.count == 1)
        await stage.hydrator.shutDown()
    }

    @Test func readTimesOutWhileDownloadContinues() async throws {
        var settings = HydrationSettings()
        settings.failureMemory = .seconds(60)
        let stage = try Stage(settings: settings)
        let gate = Gate()
        let source = MemorySource(size: 100_000)
        source.behaviour.withLock { $0.gate = gate }
        let file = stage.hydrator.open(stage.offer(source))
        // On a busy machine the deadline may precede the download; another reader starts it.
        let patient = Task { try await file.bytes(0..<10) }
        try await wait(until: "the download has begun") { source.fetches == [0] }
        await expectProblem(.timedOut) { try await file.bytes(0..<10, timeout: .milliseconds(60)) }
        // The kernel's repetition gets the same answer at once.
        #expect(file.immediate(0..<10) == .failed(.timedOut))
        gate.open()
        try await wait(until: "the bytes are here") { file.immediate(0..<10) == .filled(10) }
        #expect(try await patient.value.count == 10)
        #expect(source.fetches.first == 0 && source.fetches.filter { $0 == 0 }.count == 1)
        await stage.hydrator.shutDown()
    }

    @Test func unresponsiveCoreTimesOutToo() async throws {
        let stage = try Stage()
        stage.core.state.withLock { $0.claims[FileID(3)] = .success(nil) }
        let file = stage.hydrator.open(stage.item(3, size: 10))
        await expectProblem(.timedOut) { try await file.bytes(0..<10, timeout: .milliseconds(60)) }
        await stage.hydrator.shutDown()
    }

    @Test func leavingAnswersAllAndReturnsTheClaim() async throws {
        let stage = try Stage()
        let gate = Gate()
        let source = MemorySource(size: 1 << 20)
        let item = stage.offer(source)
        let file = stage.hydrator.open(item)
        _ = try await file.bytes(0..<10)
        source.behaviour.withLock { $0.gate = gate }
        let reader = Task { try await file.bytes(500_000..<500_010) }
        try await wait(until: "the relay is asked") { gate.waiting > 0 }
        await stage.hydrator.shutDown()
        await expectProblem(.unreachable) { try await reader.value }
        #expect(stage.core.state.withLock { $0.abandoned[FileID(1)] } == [nil])
        #expect(try stage.folder.names(in: "cache") == [PrivateFolder.marker])
        // A later reader is answered too.
        let late = stage.hydrator.open(item)
        if case .filled = late.immediate(0..<10) { Issue.record("bytes after leaving") }
        await expectProblem(.unreachable) { try await late.bytes(500_000..<500_010) }
    }

    @Test func prefetchStopsWithLastReader() async throws {
        var settings = HydrationSettings()
        settings.finishesWhatWasRead = false
        let stage = try Stage(settings: settings)
        let source = MemorySource(size: 64 * 65_536)
        let file = stage.hydrator.open(stage.offer(source))
        let other = stage.hydrator.open(stage.offer(source))
        var position: UInt64 = 0
        while position < 1_500_000 {
            _ = try await file.bytes(position..<position + 65_536)
            position += 65_536
        }
        other.close()
        file.close()
        try await wait(until: "what was under way has ended") {
            stage.hydrator.condition(of: FileID(1)).cached == UInt64(source.fetches.count) * 65_536
        }
        let fetched = source.fetches.count
        #expect(fetched >= 24)
        #expect(fetched < 24 + 8 + 4)
        await stage.hydrator.shutDown()
    }

    /// A relay has few places. An arriving fetch ends only if it stalls.
    @Test(arguments: [false, true])
    func abandonedFetchesDelayNoReader(someHasCome: Bool) async throws {
        var settings = HydrationSettings()
        settings.fetching.stalledAfter = .milliseconds(500)
        let stage = try Stage(settings: settings)
        let gate = Gate()
        let files = (1...4 as ClosedRange<Int64>).map { id in
            let source = MemorySource(size: 8 * 65_536, relay: "one", seed: UInt64(id))
            source.behaviour.withLock { $0.gate = gate }
            source.behaviour.withLock { $0.showsLife = someHasCome }
            return stage.hydrator.open(stage.offer(source, id: id))
        }
        let readers = files.map { file in Task { try await file.bytes(0..<10) } }
        try await wait(until: "all places are taken") { gate.waiting == 4 }
        for reader in readers {
            reader.cancel()
            _ = await reader.result
        }
        for file in files { file.close() }
        let other = stage.hydrator.open(
            stage.offer(MemorySource(size: 2 * 65_536, relay: "one", seed: 9), id: 9))
        #expect(try await other.bytes(0..<10) == Pattern.bytes(0..<10, seed: 9))
        try await wait(until: "all have ended") { gate.waiting == 0 }
        await stage.hydrator.shutDown()
    }

    @Test func returningReaderContinuesRunningFetch() async throws {
        var settings = HydrationSettings()
        settings.fetching.stalledAfter = .seconds(600)
        let stage = try Stage(settings: settings)
        let gate = Gate()
        let source = MemorySource(size: 8 * 65_536)
        source.behaviour.withLock { $0.gate = gate }
        source.behaviour.withLock { $0.showsLife = true }
        let item = stage.offer(source)
        for _ in 0..<5 {
            let file = stage.hydrator.open(item)
            let reader = Task { try await file.bytes(0..<10) }
            try await wait(until: "the relay is asked") { gate.waiting == 1 }
            reader.cancel()
            _ = await reader.result
            file.close()
        }
        let file = stage.hydrator.open(item)
        gate.open()
        #expect(try await file.bytes(0..<10) == Pattern.bytes(0..<10, seed: 1))
        #expect(source.fetches == [0])
        await stage.hydrator.shutDown()
    }

    @Test func returningReaderReplacesEndingFetch() async throws {
        let stage = try Stage()
        let gate = Gate()
        let source = MemorySource(size: 8 * 65_536)
        source.behaviour.withLock { $0.gate = gate }
        let item = stage.offer(source)
        for round in 1...20 {
            let file = stage.hydrator.open(item)
            let reader = Task { try await file.bytes(0..<10) }
            try await wait(until: "the relay is asked") { source.fetches.count == round }
            reader.cancel()
            _ = await reader.result
            file.close()
        }
        let file = stage.hydrator.open(item)
        let reader = Task { try await file.bytes(0..<10) }
        try await wait(until: "the relay is asked") { source.fetches.count == 21 }
        gate.open()
        #expect(try await reader.value == Pattern.bytes(0..<10, seed: 1))
        await stage.hydrator.shutDown()
    }
}
