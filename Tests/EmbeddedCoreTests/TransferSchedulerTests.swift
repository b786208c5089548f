import Base
import ChatCore
import TestSupport
import Testing

@testable import EmbeddedCore

@Suite struct TransferSchedulerTests {
    private let retry = RetryPolicy(first: .milliseconds(1), maxDelay: .milliseconds(4), tries: .max)

    @Test func slotsLimitConcurrentTransfers() async throws {
        let scheduler = TransferScheduler(retry: retry, running: 2)
        let counts = Lock((running: 0, most: 0, ended: 0))
        for number in 1...20 {
            scheduler.start(FileID(Int64(number)), in: .upload) {
                counts.withLock { counts in
                    counts.running += 1
                    counts.most = max(counts.most, counts.running)
                }
                try? await Task.sleep(for: .milliseconds(2))
                counts.withLock { counts in
                    counts.running -= 1
                    counts.ended += 1
                }
                return false
            }
        }
        try await wait(until: "all have run") { counts.withLock { $0.ended } == 20 }
        #expect(counts.withLock { $0.most } <= 2)
        #expect(counts.withLock { $0.running } == 0)
    }

    @Test func retriesContinueUntilStopped() async throws {
        let scheduler = TransferScheduler(retry: retry)
        let tries = Lock(0)
        scheduler.start(FileID(1), in: .download) {
            tries.withLock { $0 += 1 }
            return true
        }
        try await wait(until: "it was tried five times") { tries.withLock { $0 } >= 5 }
        await scheduler.stop(FileID(1))
        let after = tries.withLock { $0 }
        #expect(!scheduler.isBusy(with: FileID(1)))
        try await Task.sleep(for: .milliseconds(30))
        #expect(tries.withLock { $0 } == after)
    }

    @Test func startEndsRetryDelay() async throws {
        let scheduler = TransferScheduler(
            retry: RetryPolicy(first: .seconds(3600), maxDelay: .seconds(3600), tries: .max))
        let tries = Lock(0)
        scheduler.start(FileID(1), in: .download) {
            tries.withLock { $0 += 1 }
            return true
        }
        try await wait(until: "it was tried") { tries.withLock { $0 } == 1 }
        for number in 2...4 {
            try await wait(until: "it is tried again") {
                // A request during an attempt is too early: it has not failed yet.
                if tries.withLock({ $0 }) < number { scheduler.start(FileID(1), in: .download) { true } }
                return tries.withLock { $0 } == number
            }
        }
        await scheduler.stop(FileID(1))
        #expect(!scheduler.isBusy(with: FileID(1)))
    }

    @Test func waitingTransferCanBeStopped() async throws {
        let scheduler = TransferScheduler(retry: retry, running: 1)
        let order = Lock<[Int64]>([])
        let gate = Lock(false)
        scheduler.start(FileID(1), in: .upload) {
            while !gate.withLock({ $0 }) { try? await Task.sleep(for: .milliseconds(1)) }
            order.withLock { $0.append(1) }
            return false
        }
        for number in Int64(2)...4 {
            scheduler.start(FileID(number), in: .upload) {
                order.withLock { $0.append(number) }
                return false
            }
        }
        await scheduler.stop(FileID(3))
        gate.withLock { $0 = true }
        try await wait(until: "the others have run") { order.withLock { $0.count } == 3 }
        #expect(Set(order.withLock { $0 }) == [1, 2, 4])
    }

    @Test func otherLaneFollowsWithoutDuplicates() async throws {
        let scheduler = TransferScheduler(retry: retry)
        let order = Lock<[String]>([])
        let gate = Lock(false)
        for _ in 0..<2 {
            scheduler.start(FileID(1), in: .upload) {
                while !gate.withLock({ $0 }) { try? await Task.sleep(for: .milliseconds(1)) }
                order.withLock { $0.append("upload") }
                return false
            }
        }
        scheduler.start(FileID(1), in: .deletion) {
            order.withLock { $0.append("deletion") }
            return false
        }
        gate.withLock { $0 = true }
        try await wait(until: "both have run") { order.withLock { $0.count } == 2 }
        #expect(order.withLock { $0 } == ["upload", "deletion"])
    }

    /// An attempt may have read a state from before the request.
    @Test func startDuringLastAttemptRunsAgain() async throws {
        let scheduler = TransferScheduler(retry: retry)
        let tries = Lock(0)
        let work: TransferScheduler.Work = { [tries] in
            tries.withLock { $0 += 1 }
            return false
        }
        scheduler.start(FileID(1), in: .upload) {
            // The last attempt has decided to end, but has not ended.
            for _ in 0..<2 { scheduler.start(FileID(1), in: .upload, work) }
            return false
        }
        try await wait(until: "all is done") { !scheduler.isBusy(with: FileID(1)) }
        #expect(tries.withLock { $0 } == 1)
    }

    @Test func stopDropsPendingStart() async throws {
        let scheduler = TransferScheduler(retry: retry)
        let isRunning = Lock(false)
        scheduler.start(FileID(1), in: .upload) {
            isRunning.withLock { $0 = true }
            while !Task.isCancelled { try? await Task.sleep(for: .seconds(60)) }
            return false
        }
        try await wait(until: "it runs") { isRunning.withLock { $0 } }
        scheduler.start(FileID(1), in: .upload) {
            Issue.record("it ran")
            return false
        }
        await scheduler.stop(FileID(1))
        #expect(!scheduler.isBusy(with: FileID(1)))
    }

    @Test func startDuringStopRunsAfterwards() async throws {
        let scheduler = TransferScheduler(retry: retry)
        let (hasBegun, isCancelled) = (OneTimeEvent(), OneTimeEvent())
        let (mayEnd, hasRun) = (AsyncSemaphore(0), Lock(false))
        scheduler.start(FileID(1), in: .upload) {
            hasBegun.happen()
            while !Task.isCancelled { try? await Task.sleep(for: .seconds(60)) }
            isCancelled.happen()
            // Not cancelled with this task.
            await Task { _ = await mayEnd.acquire() }.value
            return false
        }
        await hasBegun.wait()
        let stopping = Task { await scheduler.stop(FileID(1)) }
        await isCancelled.wait()
        scheduler.start(FileID(1), in: .upload) {
            hasRun.withLock { $0 = true }
            return false
        }
        #expect(!scheduler.note(TransferProgress(done: 1, total: 2), of: FileID(1)))
        mayEnd.release()
        await stopping.value
        try await wait(until: "it runs") { hasRun.withLock { $0 } }
    }

    @Test func stoppedUploadIsFollowedByItsDeletion() async throws {
        let scheduler = TransferScheduler(retry: retry)
        let (begun, deleted) = (Lock(false), Lock(false))
        scheduler.start(FileID(1), in: .upload) {
            begun.withLock { $0 = true }
            while !Task.isCancelled { try? await Task.sleep(for: .seconds(60)) }
            return true
        }
        try await wait(until: "it runs") { begun.withLock { $0 } }
        scheduler.start(FileID(1), in: .deletion) {
            deleted.withLock { $0 = true }
            return false
        }
        await scheduler.stop(FileID(1))
        try await wait(until: "its chunks are deleted") { deleted.withLock { $0 } }
    }

    @Test func repeatedStopKeepsDeletion() async throws {
        let scheduler = TransferScheduler(retry: retry)
        let (hasBegun, isCancelled) = (OneTimeEvent(), OneTimeEvent())
        let (mayEnd, deleted) = (AsyncSemaphore(0), Lock(false))
        scheduler.start(FileID(1), in: .upload) {
            hasBegun.happen()
            while !Task.isCancelled { try? await Task.sleep(for: .seconds(60)) }
            isCancelled.happen()
            // Not cancelled with this task.
            await Task { _ = await mayEnd.acquire() }.value
            return false
        }
        await hasBegun.wait()
        let first = Task { await scheduler.stop(FileID(1)) }
        await isCancelled.wait()
        scheduler.start(FileID(1), in: .deletion) {
            deleted.withLock { $0 = true }
            return false
        }
        let second = Task { await scheduler.stop(FileID(1)) }
        // Until both calls wait for the upload.
        try await Task.sleep(for: .milliseconds(50))
        mayEnd.release()
        await first.value
        await second.value
        try await wait(until: "its chunks are deleted") { deleted.withLock { $0 } }
    }

    @Test func stopCancelsOnlyWorkUnderWay() async throws {
        let scheduler = TransferScheduler(retry: retry)
        for number in Int64(1)...200 {
            let file = FileID(number)
            let (hasBegun, wasCancelled) = (OneTimeEvent(), Lock<Bool?>(nil))
            scheduler.start(file, in: .upload) {
                hasBegun.happen()
                // Ends by itself at the moment of the stop.
                while scheduler.note(TransferProgress(done: 1, total: 1), of: file) { await Task.yield() }
                return false
            }
            await hasBegun.wait()
            scheduler.start(file, in: .deletion) {
                try? await Task.sleep(for: .milliseconds(1))
                wasCancelled.withLock { $0 = Task.isCancelled }
                return false
            }
            await scheduler.stop(file)
            try await wait(until: "its chunks are deleted") { wasCancelled.withLock { $0 } != nil }
            try #require(wasCancelled.withLock { $0 } == false)
        }
    }

    @Test func stoppedRetryMakesNoOtherAttempt() async throws {
        let scheduler = TransferScheduler(
            retry: RetryPolicy(first: .seconds(3600), maxDelay: .seconds(3600), tries: .max))
        let (tries, deleted) = (Lock(0), Lock(false))
        scheduler.start(FileID(1), in: .upload) {
            tries.withLock { $0 += 1 }
            return true
        }
        try await wait(until: "it was tried") { tries.withLock { $0 } == 1 }
        await scheduler.stop(FileID(1))
        scheduler.start(FileID(1), in: .deletion) {
            deleted.withLock { $0 = true }
            return false
        }
        try await wait(until: "its chunks are deleted") { deleted.withLock { $0 } }
        #expect(tries.withLock { $0 } == 1)
    }

    @Test func closedSchedulerRejectsWork() async {
        let scheduler = TransferScheduler(retry: retry)
        await scheduler.close()
        scheduler.start(FileID(1), in: .upload) {
            Issue.record("it ran")
            return false
        }
        #expect(!scheduler.isBusy(with: FileID(1)))
    }

    @Test func progressIsReportedPerPercent() async {
        let scheduler = TransferScheduler(retry: retry)
        scheduler.start(FileID(1), in: .upload) {
            _ = try? await Task.sleep(for: .seconds(60))
            return false
        }
        var told = 0
        for done in 0...10_000
        where scheduler.note(TransferProgress(done: UInt64(done), total: 10_000), of: FileID(1)) {
            told += 1
        }
        #expect((100...103).contains(told))
        await scheduler.stop(FileID(1))
        // An ended transfer reports no progress.
        #expect(!scheduler.note(TransferProgress(done: 1, total: 2), of: FileID(1)))
    }
}
