import Base
import ChatCore
import Cryptography
import Glibc
import Posix
import TestSupport
import Testing
import XFTP

@testable import Hydration

/// Requests for whole files persist: by a command, a pin, or a read past the first chunk.
@Suite(.timeLimit(.minutes(10))) struct RetentionTests {
    private static let chunk: UInt64 = 65_536

    @Test func hydrateFetchesWholeOrExplains() async throws {
        let stage = try Stage()
        let source = MemorySource(size: 10 * Self.chunk)
        let item = stage.offer(source)
        #expect(await stage.hydrator.hydrate(item) == nil)
        #expect(stage.hydrator.condition(of: FileID(1)).stage == .complete)
        #expect(await stage.hydrator.hydrate(item) == nil)
        #expect(source.fetches.count == source.chunks.count)
        let gone = MemorySource(size: 10 * Self.chunk, seed: 2)
        gone.behaviour.withLock { $0.failsAlways = XFTPError(.relay(.authorization), "gone") }
        #expect(await stage.hydrator.hydrate(stage.offer(gone, id: 2))?.kind == .expired)
        await stage.hydrator.shutDown()
    }

    @Test func pinsPersistAcrossMounts() async throws {
        let folder = try TemporaryFolder()
        let own = try OpenFile(folder.makeFolder("profile"), flags: O_RDONLY)
        let stage = try Stage(retention: try RetentionList(in: own))
        let item = stage.offer(MemorySource(size: 3 * Self.chunk))
        try await stage.hydrator.pin(item)
        try await stage.hydrator.pin(stage.item(8, size: 5))
        try await stage.hydrator.unpin(FileID(8))
        await stage.hydrator.shutDown()
        let next = try Stage(retention: try RetentionList(in: own))
        #expect(next.hydrator.pinnedFiles == [FileID(1)])
        #expect(next.hydrator.isPinned(FileID(1)))
        await next.hydrator.shutDown()
    }

    @Test func interruptedReceiveResumesAfterRemount() async throws {
        let folder = try TemporaryFolder()
        let own = try OpenFile(folder.makeFolder("profile"), flags: O_RDONLY)
        let stage = try Stage(retention: try RetentionList(in: own))
        let gate = Gate()
        let source = MemorySource(size: 40 * Self.chunk)
        let file = stage.hydrator.open(stage.offer(source))
        _ = try await file.bytes(0..<10)
        source.behaviour.withLock { $0.gate = gate }
        // More than the first chunk, which never arrives.
        let reader = Task { try await file.bytes(10..<2 * Self.chunk) }
        try await wait(until: "the relay is asked") { gate.waiting > 0 }
        reader.cancel()
        file.close()
        await stage.hydrator.shutDown()
        let next = try Stage(retention: try RetentionList(in: own))
        let item = next.offer(MemorySource(size: 40 * Self.chunk))
        #expect(next.hydrator.filesOfEarlierMounts == [FileID(1)])
        next.hydrator.resume(item)
        try await wait(until: "it is kept") { next.core.state.withLock { $0.completed[FileID(1)] != nil } }
        try await wait(until: "nothing more is retained") { next.hydrator.filesOfEarlierMounts.isEmpty }
        await next.hydrator.shutDown()
        #expect(try RetentionList(in: own).unfinishedBefore.isEmpty)
    }

    @Test func pinnedFileOfUnreachableRelayIsRetried() async throws {
        var settings = HydrationSettings()
        settings.pauseAfterFailure = .milliseconds(1)
        settings.failureMemory = .milliseconds(1)
        let stage = try Stage(settings: settings)
        let source = MemorySource(size: 3 * Self.chunk)
        source.behaviour.withLock {
            $0.failures[1] = Array(repeating: XFTPError(.unreachable, "no connection"), count: 3)
        }
        try await stage.hydrator.pin(stage.offer(source))
        try await wait(until: "it is kept") { stage.core.state.withLock { $0.completed[FileID(1)] != nil } }
        await stage.hydrator.shutDown()
    }

    @Test func pinnedFileRefusedByCoreIsRetried() async throws {
        var settings = HydrationSettings()
        settings.pauseAfterFailure = .milliseconds(1)
        let stage = try Stage(settings: settings)
        let item = stage.offer(MemorySource(size: 3 * Self.chunk))
        let refusal = ChatError(.file(.unreachable), "The relay is away.")
        let claim = stage.core.state.withLock { state in
            defer { state.claims[FileID(1)] = .failure(refusal) }
            return state.claims[FileID(1)]
        }
        try await stage.hydrator.pin(item)
        try await wait(until: "it was tried again") { stage.core.state.withLock { $0.claimCount } > 2 }
        stage.core.state.withLock { $0.claims[FileID(1)] = claim }
        try await wait(until: "it is kept") { stage.core.state.withLock { $0.completed[FileID(1)] != nil } }
        await stage.hydrator.shutDown()
    }

    @Test(arguments: ["news of it", "another file's relay approved"])
    func changeRetriesRefusedPinAtOnce(what: String) async throws {
        var settings = HydrationSettings()
        settings.pauseAfterFailure = .seconds(3600)
        let stage = try Stage(settings: settings)
        var item = stage.offer(MemorySource(size: 3 * Self.chunk))
        let refusal = ChatError(.file(.notApproved), "Its relays are not approved.")
        let claim = stage.core.state.withLock { state in
            defer { state.claims[FileID(1)] = .failure(refusal) }
            return state.claims[FileID(1)]
        }
        try await stage.hydrator.pin(item)
        try await wait(until: "it was refused") {
            stage.hydrator.condition(of: FileID(1)).problem?.kind == .notApproved
        }
        stage.core.state.withLock { $0.claims[FileID(1)] = claim }
        if what == "news of it" {
            item.file?.status = .rcvAborted(.relaysNotApproved)
            stage.hydrator.update(item)
        } else {
            stage.hydrator.tryAgain()
        }
        try await wait(until: "it is kept") { stage.core.state.withLock { $0.completed[FileID(1)] != nil } }
        await stage.hydrator.shutDown()
    }

    @Test func unstoredPinnedFileIsStoredLater() async throws {
        var settings = HydrationSettings()
        settings.pauseAfterFailure = .milliseconds(1)
        let stage = try Stage(settings: settings)
        let source = MemorySource(size: 3 * Self.chunk)
        let full = ChatError(.storage, "No space.")
        stage.core.state.withLock { $0.completionFails = [full, full] }
        try await stage.hydrator.pin(stage.offer(source))
        try await wait(until: "it is kept") { stage.core.state.withLock { $0.completed[FileID(1)] != nil } }
        #expect(source.fetches.count == source.chunks.count)
        await stage.hydrator.shutDown()
    }

    @Test(arguments: [false, true])
    func unpinnedFileIsNotFetched(beforeItBegan: Bool) async throws {
        let stage = try Stage()
        let source = MemorySource(size: 40 * Self.chunk)
        let gate = Gate()
        source.behaviour.withLock { $0.gate = gate }
        let item = stage.offer(source)
        try await stage.hydrator.pin(item)
        if !beforeItBegan { try await wait(until: "it is on its way") { gate.waiting > 0 } }
        try await stage.hydrator.unpin(FileID(1))
        try await wait(until: "what was on its way has ended") { gate.waiting == 0 }
        gate.open()
        // A wanted file has priority: by its arrival, this one would have fetched more if it did.
        let other = stage.hydrator.open(stage.offer(MemorySource(size: 10 * Self.chunk, seed: 2), id: 2))
        _ = try await other.bytes(0..<10 * Self.chunk)
        #expect(source.fetches.count <= 4)
        #expect(stage.core.state.withLock { $0.completed[FileID(1)] } == nil)
        await stage.hydrator.shutDown()
    }

    @Test("a pinned file is released during its claim")
    func givenUpWhileTheCoreIsAsked() async throws {
        let stage = try Stage()
        let gate = Gate()
        stage.core.state.withLock { $0.claimGate = gate }
        let item = stage.offer(MemorySource(size: 10 * Self.chunk))
        try await stage.hydrator.pin(item)
        try await wait(until: "the core is asked") { gate.waiting > 0 }
        #expect(await stage.hydrator.dehydrateWhenSettled(FileID(1)) == false, "it is pinned")
        try await stage.hydrator.unpin(FileID(1))
        async let isGone = stage.hydrator.dehydrateWhenSettled(FileID(1))
        gate.open()
        #expect(await isGone)
        #expect(stage.hydrator.condition(of: FileID(1)).stage == .idle)

        let file = stage.hydrator.open(item)
        #expect(await stage.hydrator.dehydrateWhenSettled(FileID(1)) == false, "somebody has it open")
        withExtendedLifetime(file) {}
        await stage.hydrator.shutDown()
    }

    @Test func unpinningKeepsReadersBytes() async throws {
        let stage = try Stage()
        let source = MemorySource(size: 40 * Self.chunk)
        let gate = Gate()
        source.behaviour.withLock { $0.gate = gate }
        let item = stage.offer(source)
        try await stage.hydrator.pin(item)
        let file = stage.hydrator.open(item)
        let reader = Task { try await file.bytes(0..<10) }
        try await wait(until: "it is on its way") { gate.waiting > 0 }
        try await stage.hydrator.unpin(FileID(1))
        gate.open()
        #expect(try await reader.value == Pattern.bytes(0..<10, seed: 1))
        #expect(source.fetches.filter { $0 == 0 }.count == 1)
        await stage.hydrator.shutDown()
    }

    @Test func keepDownloadsComeLastUntilUnwanted() async throws {
        let folder = try TemporaryFolder()
        let own = try OpenFile(folder.makeFolder("profile"), flags: O_RDONLY)
        let stage = try Stage(retention: try RetentionList(in: own))
        let gate = Gate()
        let source = MemorySource(size: 20 * Self.chunk)
        source.behaviour.withLock { $0.gate = gate }
        let item = stage.offer(source)
        stage.hydrator.keep(item)
        try await wait(until: "the relay is asked") { gate.waiting > 0 }
        #expect(stage.hydrator.condition(of: FileID(1)).stage == .receiving)
        stage.hydrator.stopKeeping(FileID(1))
        gate.open()
        source.behaviour.withLock { $0.gate = nil }
        stage.hydrator.stopKeeping(FileID(1))
        #expect(stage.core.state.withLock { $0.completed[FileID(1)] } == nil)
        // Wanted again, it continues; once local, it is released.
        stage.hydrator.keep(item)
        try await wait(until: "it is kept") { stage.core.state.withLock { $0.completed[FileID(1)] != nil } }
        try await wait(until: "it may go") { stage.hydrator.dehydrate(FileID(1)) }
        #expect(stage.hydrator.condition(of: FileID(1)) == HydrationCondition())
        #expect(stage.hydrator.filesOfEarlierMounts.isEmpty)
        await stage.hydrator.shutDown()
        #expect(try RetentionList(in: own).unfinishedBefore.isEmpty)
    }

    @Test func failedKeepExplainsAndServesReaders() async throws {
        let stage = try Stage()
        let source = MemorySource(size: 3 * Self.chunk)
        source.behaviour.withLock { $0.failsAlways = XFTPError(.unreachable, "no connection") }
        let item = stage.offer(source)
        stage.hydrator.keep(item)
        try await wait(until: "it says why") {
            stage.hydrator.condition(of: FileID(1)).problem?.kind == .unreachable
        }
        stage.hydrator.stopKeeping(FileID(1))
        source.behaviour.withLock { $0.failsAlways = nil }
        #expect(await stage.hydrator.hydrate(item) == nil)
        await stage.hydrator.shutDown()
    }
}
