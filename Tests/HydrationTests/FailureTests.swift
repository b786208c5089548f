import Base
import ChatCore
import Dispatch
import Glibc
import Posix
import TestSupport
import Testing
import XFTP

@testable import Hydration

@Suite(.timeLimit(.minutes(10))) struct FailureTests {
    private static let size: UInt64 = 6 * 65_536

    @Test(
        arguments: [
            (XFTPError(.relay(.authorization), "gone"), .expired),
            (XFTPError(.relay(.noFile), "never came"), .neverUploaded),
            (XFTPError(.relay(.blocked(reason: "spam")), "blocked"), .blocked),
            (XFTPError(.damaged, "digest"), .damaged),
            (XFTPError(.unreachable, "no connection"), .unreachable),
            (XFTPError(.relayNotAllowed, "private address"), .notApproved),
            (XFTPError(.timedOut, "late"), .timedOut),
        ] as [(XFTPError, FileProblem.Kind)])
    func failedChunkExplainsItsError(error: XFTPError, kind: FileProblem.Kind) async throws {
        // The failure is still remembered on a busy machine.
        var settings = HydrationSettings()
        settings.failureMemory = .seconds(600)
        let stage = try Stage(settings: settings)
        let source = MemorySource(size: Self.size)
        source.behaviour.withLock { $0.failures[3] = [error] }
        let file = stage.hydrator.open(stage.offer(source))
        #expect(try await file.bytes(0..<100) == Pattern.bytes(0..<100, seed: 1))
        await expectProblem(kind) { try await file.bytes(3 * 65_536..<3 * 65_536 + 10) }
        // The kernel repeats a failed read at once: same answer, no fetch.
        let fetches = source.fetches
        guard case .failed(let again) = file.immediate(3 * 65_536..<3 * 65_536 + 10) else {
            Issue.record("the failure was forgotten")
            return
        }
        #expect(again.kind == kind && again.sentence == error.sentence)
        #expect(source.fetches == fetches)
        #expect(stage.hydrator.condition(of: FileID(1)).problem == again)
        // Local bytes are served nevertheless.
        #expect(try await file.bytes(0..<100) == Pattern.bytes(0..<100, seed: 1))
        await stage.hydrator.shutDown()
        let abandoned = stage.core.state.withLock { $0.abandoned[FileID(1)] ?? [] }
        #expect(abandoned.contains { $0?.kind == kind } == again.isFinal)
    }

    @Test func temporaryFailureIsRetried() async throws {
        var settings = HydrationSettings()
        settings.failureMemory = .milliseconds(1)
        let stage = try Stage(settings: settings)
        let source = MemorySource(size: Self.size)
        source.behaviour.withLock { $0.failures[0] = [XFTPError(.unreachable, "no connection")] }
        let file = stage.hydrator.open(stage.offer(source))
        await expectProblem(.unreachable) { try await file.bytes(0..<10) }
        try await wait(until: "the file can be read") { (try? await file.bytes(0..<10)) != nil }
        #expect(source.fetches == [0, 0])
        await stage.hydrator.shutDown()
    }

    @Test func refusedClaimHasTheCoresSentence() async throws {
        var settings = HydrationSettings()
        settings.failureMemory = .seconds(600)
        let stage = try Stage(settings: settings)
        let item = stage.item(4, size: 10)
        let sentence = "Its relay xftp1.example is not approved: run chatfs approve."
        stage.core.state.withLock {
            $0.claims[FileID(4)] = .failure(ChatError(.file(.notApproved), sentence))
        }
        let file = stage.hydrator.open(item)
        await expectProblem(.notApproved) { try await file.bytes(0..<10) }
        #expect(file.immediate(0..<10) == .failed(FileProblem(.notApproved, sentence)))
        #expect(stage.core.state.withLock { $0.claimCount } == 1)
        // After the approval, the next read retries at once.
        let source = MemorySource(size: 10)
        stage.hydrator.update(stage.offer(source, id: 4))
        stage.hydrator.update(stage.item(4, size: 10, status: .rcvInvitation(described: false)))
        #expect(try await file.bytes(0..<10) == Pattern.bytes(0..<10, seed: 1))
        await stage.hydrator.shutDown()
    }

    @Test func chunksForCoreOnlyAreAwaited() async throws {
        let stage = try Stage()
        stage.core.state.withLock { $0.receivesWhatIsClaimed = true }
        let source = MemorySource(size: 100_000)
        source.behaviour.withLock {
            $0.failsAlways = XFTPError(.relayNotAllowed, "The relay leads into this machine's network.")
        }
        var item = stage.offer(source)
        let file = stage.hydrator.open(item)
        async let first = file.bytes(0..<10)
        try await wait(until: "the chunk was refused") { !source.fetches.isEmpty }
        try await wait(until: "the core is waited for") {
            stage.machine(of: FileID(1))?.phase.name == .awaitingCore
        }
        let plain = Pattern.bytes(0..<100_000, seed: 1)
        let path = stage.folder.path("received")
        let arguments = try stage.encrypted(plain, to: path)
        item.file?.status = .rcvComplete
        item.file?.source = FileSourceLocation(path: path, arguments: arguments)
        stage.hydrator.update(item)
        #expect(try await first == Array(plain[..<10]))
        file.close()
        await stage.hydrator.shutDown()
    }

    @Test func coreFailureHasTheCoresSentence() async throws {
        let stage = try Stage()
        stage.core.state.withLock { $0.receivesWhatIsClaimed = true }
        let source = MemorySource(size: 100_000)
        source.behaviour.withLock {
            $0.failsAlways = XFTPError(.relayNotAllowed, "The relay leads into this machine's network.")
        }
        var item = stage.offer(source)
        let words = FileProblem(.unreachable, "The relay of this file could not be reached.")
        item.file?.status = .rcvWarning(words)
        let file = stage.hydrator.open(item)
        await #expect {
            _ = try await file.bytes(0..<10)
        } throws: { ($0 as? ReadFailure)?.problem == words }
        file.close()
        await stage.hydrator.shutDown()
    }

    @Test func invalidDescriptionIsDamage() async throws {
        let stage = try Stage()
        stage.core.state.withLock { $0.claims[FileID(4)] = .success("no source") }
        let file = stage.hydrator.open(stage.item(4, size: 10))
        await expectProblem(.damaged) { try await file.bytes(0..<10) }
        await stage.hydrator.shutDown()
        #expect(stage.core.state.withLock { $0.abandoned[FileID(4)]?.first??.kind } == .damaged)
    }

    @Test func contradictingLengthIsDamageBeforeAnyByte() async throws {
        for lie: UInt64 in [Self.size - 1, Self.size + 1, 0] {
            let stage = try Stage()
            let source = MemorySource(size: Self.size, headerSize: lie)
            let file = stage.hydrator.open(stage.offer(source))
            await expectProblem(.damaged) { try await file.bytes(0..<10) }
            await expectProblem(.damaged) { try await file.bytes(200_000..<200_010) }
            #expect(stage.hydrator.condition(of: FileID(1)).problem == .wrongLength)
            await stage.hydrator.shutDown()
        }
    }

    @Test func descriptionOfAnotherSizeFetchesNothing() async throws {
        let stage = try Stage()
        let source = MemorySource(size: 12 << 20, chunkSize: 4 << 20, headerSize: 1000)
        let file = stage.hydrator.open(stage.offer(source, size: 1000))
        await expectProblem(.damaged) { try await file.bytes(0..<10) }
        #expect(source.fetches.isEmpty)
        await stage.hydrator.shutDown()
        #expect(stage.core.state.withLock { $0.abandoned[FileID(1)]?.first??.kind } == .damaged)
    }

    @Test(arguments: [false, true])
    func wrongWholeIsDroppedEverywhere(keepsStream: Bool) async throws {
        let stage = try Stage()
        stage.core.state.withLock { $0.keepsStreams = keepsStream }
        let source = MemorySource(size: Self.size, hasWrongTag: true)
        let file = stage.hydrator.open(stage.offer(source))
        let changes = stage.hydrator.changes()
        // The check may be faster than the reader.
        if let seen = try? await file.bytes(0..<Self.size) {
            #expect(seen == Pattern.bytes(0..<Self.size, seed: 1))
        }
        try await wait(until: "the check has failed") {
            stage.core.state.withLock { $0.abandoned[FileID(1)]?.first??.kind } == .damaged
        }
        await expectProblem(.damaged) { try await file.bytes(0..<1) }
        #expect(stage.hydrator.condition(of: FileID(1)).cached == 0)
        try await wait(until: "its part is deleted") { try stage.folder.names(in: "staging/received") == [] }
        #expect(try stage.folder.names(in: "staging") == ["received", "tags"])
        await stage.hydrator.shutDown()
        var told: Set<HydrationChange> = []
        for await change in changes { told.insert(change) }
        #expect(told.contains(.contentInvalid(FileID(1))))
    }

    @Test func fullDiskErrorNamesMissingBytes() async throws {
        let stage = try Stage()
        let source = MemorySource(size: Self.size)
        source.behaviour.withLock {
            $0.failures[0] = [SystemError(code: ENOSPC, operation: "write a file")]
        }
        let file = stage.hydrator.open(stage.offer(source))
        do {
            _ = try await file.bytes(0..<10)
            Issue.record("the read succeeded")
        } catch let failure as ReadFailure {
            #expect(failure.problem.kind == .noSpace)
            #expect(failure.problem.sentence.contains("65.5 kB more"))
        }
        await stage.hydrator.shutDown()
    }

    @Test func unkeptWholeIsServedFromCache() async throws {
        let stage = try Stage()
        let source = MemorySource(size: Self.size)
        stage.core.state.withLock { $0.completionFails = [ChatError(.storage, "The store is busy.")] }
        let item = stage.offer(source)
        let file = stage.hydrator.open(item)
        _ = try await file.bytes(0..<Self.size)
        try await wait(until: "keeping failed") {
            stage.hydrator.condition(of: FileID(1)).problem?.sentence == "The store is busy."
        }
        #expect(try await file.bytes(0..<100) == Pattern.bytes(0..<100, seed: 1))
        let again = stage.hydrator.open(item)
        try await wait(until: "it is kept") { stage.core.state.withLock { $0.completed[FileID(1)] != nil } }
        file.close()
        again.close()
        await stage.hydrator.shutDown()
    }

    @Test func takenOverFileIsOpenedLater() async throws {
        let stage = try Stage()
        stage.core.state.withLock { $0.hidesCompleted = true }
        let file = stage.hydrator.open(stage.offer(MemorySource(size: Self.size)))
        _ = try await file.bytes(0..<Self.size)
        try await wait(until: "the copy cannot be opened") {
            stage.hydrator.condition(of: FileID(1)).problem != nil
        }
        let kept = try #require(stage.core.state.withLock { $0.completed[FileID(1)] })
        let item = stage.item(1, size: Self.size, status: .rcvComplete, source: kept)
        stage.hydrator.update(item)
        let again = stage.hydrator.open(item)
        try await wait(until: "the core's copy is open") {
            stage.machine(of: FileID(1))?.phase.name == .whole
        }
        #expect(try await again.bytes(0..<Self.size) == Pattern.bytes(0..<Self.size, seed: 1))
        await stage.hydrator.shutDown()
    }

    /// Copies of large files take minutes on a slow disk, and storing waits for none.
    @Test func copyIsMadeBesideStoring() async throws {
        let stage = try Stage()
        stage.core.state.withLock { $0.completionFails = [ChatError(.storage, "The store is busy.")] }
        let item = stage.offer(MemorySource(size: Self.size))
        let file = stage.hydrator.open(item)
        _ = try await file.bytes(0..<Self.size)
        try await wait(until: "keeping failed") { stage.hydrator.condition(of: FileID(1)).problem != nil }
        let end = DispatchSemaphore(value: 0)
        for _ in 0..<2 { ChunkStore.threads.submit { end.wait() } }
        _ = stage.hydrator.open(item)
        try await wait(until: "it is kept") { stage.core.state.withLock { $0.completed[FileID(1)] != nil } }
        for _ in 0..<2 { end.signal() }
        await stage.hydrator.shutDown()
    }

    @Test func newClaimWaitsForTheEndOfTheOld() async throws {
        let stage = try Stage()
        let gate = Gate()
        stage.core.state.withLock { ($0.refusesSecondClaims, $0.abandonGate) = (true, gate) }
        let item = stage.offer(MemorySource(size: Self.size))
        let first = stage.hydrator.open(item)
        _ = try await first.bytes(0..<10)
        first.close()
        try await wait(until: "it may go") { stage.hydrator.dehydrate(FileID(1)) }
        try await wait(until: "the claim is given up") { gate.waiting > 0 }
        let second = stage.hydrator.open(item)
        async let bytes = second.bytes(0..<10)
        // A claim that does not wait comes now.
        try await Task.sleep(for: .milliseconds(50))
        gate.open()
        #expect(try await bytes == Pattern.bytes(0..<10, seed: 1))
        second.close()
        await stage.hydrator.shutDown()
    }

    @Test func openFileKeepsBytesOfDeletedMessage() async throws {
        let stage = try Stage()
        let source = MemorySource(size: Self.size)
        let file = stage.hydrator.open(stage.offer(source))
        _ = try await file.bytes(0..<10)
        stage.hydrator.remove(FileID(1))
        #expect(try await file.bytes(0..<10) == Pattern.bytes(0..<10, seed: 1))
        await expectProblem(.cancelledBySender) { try await file.bytes(300_000..<300_010) }
        #expect(source.fetches == [0])
        file.close()
        #expect(stage.hydrator.condition(of: FileID(1)) == HydrationCondition())
        await stage.hydrator.shutDown()
    }

    @Test func moderatedFileIsDroppedAtOnce() async throws {
        let stage = try Stage()
        let source = MemorySource(size: Self.size)
        let file = stage.hydrator.open(stage.offer(source))
        _ = try await file.bytes(0..<10)
        stage.hydrator.remove(FileID(1), atOnce: true)
        #expect(file.immediate(0..<10) == .failed(.deleted))
        #expect(stage.hydrator.condition(of: FileID(1)).cached == 0)
        await stage.hydrator.shutDown()
    }

    @Test func cacheIsEmptyAfterExpiryDuringFetch() async throws {
        let stage = try Stage()
        let source = MemorySource(size: Self.size)
        let file = stage.hydrator.open(stage.offer(source))
        _ = try await file.bytes(Self.size - 10..<Self.size)
        try await wait(until: "it is kept") { stage.hydrator.cacheReport().bytesOnDisk > 0 }
        let gate = Gate()
        source.behaviour.withLock { $0.gate = gate }
        let waiting = Task { try await file.bytes(300_000..<300_010) }
        try await wait(until: "a chunk is on its way") { gate.waiting > 0 }
        stage.hydrator.remove(FileID(1), atOnce: true)
        await expectProblem(.cancelledBySender) { try await waiting.value }
        try await wait(until: "its place is free") { stage.hydrator.cacheReport().bytesOnDisk == 0 }
        gate.open()
        await stage.hydrator.shutDown()
    }

    /// The kernel may read the backing file without requests.
    @Test(arguments: [true, false])
    func heldPlainCopyIsEmptiedIfExpired(atOnce: Bool) async throws {
        var settings = HydrationSettings()
        settings.cacheMode = .plain
        let stage = try Stage(settings: settings)
        let plain = Pattern.bytes(0..<100_000, seed: 3)
        let path = stage.folder.path("stored")
        let arguments = try stage.encrypted(plain, to: path)
        let file = stage.hydrator.open(
            stage.item(
                1, size: 100_000, status: .rcvComplete,
                source: FileSourceLocation(path: path, arguments: arguments)))
        _ = try await file.bytes(0..<10)
        let held = try #require(file.wholePlainFile)
        stage.hydrator.remove(FileID(1), atOnce: atOnce)
        #expect(file.immediate(0..<10) == (atOnce ? .failed(.deleted) : .filled(10)))
        if atOnce { try await wait(until: "it is emptied") { try held.size() == 0 } }
        file.close()
        await stage.hydrator.shutDown()
        #expect(try held.readAll(limit: 1 << 20) == (atOnce ? [] : plain))
    }

    @Test func emptiedPlainCopyIsNoEndOfFile() async throws {
        var settings = HydrationSettings()
        settings.cacheMode = .plain
        let stage = try Stage(settings: settings)
        let path = stage.folder.path("stored")
        let arguments = try stage.encrypted(Pattern.bytes(0..<100_000, seed: 3), to: path)
        let source = FileSourceLocation(path: path, arguments: arguments)
        let file = stage.hydrator.open(stage.item(1, size: 100_000, status: .rcvComplete, source: source))
        _ = try await file.bytes(0..<10)
        try #require(file.wholePlainFile).truncate(to: 5)
        #expect(file.immediate(0..<10) == .failed(.deleted))
        file.close()
        await stage.hydrator.shutDown()
    }

    @Test func senderCancelsDuringRead() async throws {
        let stage = try Stage()
        let source = MemorySource(size: Self.size)
        let file = stage.hydrator.open(stage.offer(source))
        _ = try await file.bytes(0..<10)
        source.behaviour.withLock { $0.gate = Gate() }
        let waiting = Task { try await file.bytes(300_000..<300_010) }
        try await wait(until: "it waits") { source.fetches.contains(4) }
        stage.hydrator.update(stage.item(1, size: Self.size, status: .rcvCancelled))
        await expectProblem(.cancelledBySender) { try await waiting.value }
        await stage.hydrator.shutDown()
    }
}
