import Base
import TestSupport
import Testing

@Suite("Suspension of work")
struct SuspensionTests {
    @Test("nothing waits without a suspension")
    func open() async {
        let suspension = Suspension()
        #expect(!suspension.isSuspended)
        #expect(await suspension.wait())
    }

    @Test("all tasks wait until resumed")
    func waits() async throws {
        let suspension = Suspension()
        #expect(suspension.suspend())
        #expect(!suspension.suspend())
        let passed = Lock(0)
        let tasks = (0..<100).map { _ in
            Task {
                let goesOn = await suspension.wait()
                passed.withLock { $0 += goesOn ? 1 : 0 }
            }
        }
        for _ in 0..<100 { await Task.yield() }
        #expect(passed.withLock { $0 } == 0)
        suspension.resume()
        for task in tasks { await task.value }
        #expect(passed.withLock { $0 } == 100)
        #expect(await suspension.wait())
    }

    @Test("cancellation ends a wait")
    func cancelled() async {
        let suspension = Suspension()
        suspension.suspend()
        let task = Task { await suspension.wait() }
        task.cancel()
        #expect(await !task.value)
        let sleeping = Task { await suspension.sleep(for: .seconds(3600)) }
        sleeping.cancel()
        #expect(await !sleeping.value)
        suspension.resume()
        let late = Task {
            while !Task.isCancelled { await Task.yield() }
            return await suspension.wait()
        }
        late.cancel()
        #expect(await !late.value)
    }

    @Test("retry delays end in time or when resumed")
    func sleeps() async {
        let suspension = Suspension()
        #expect(await suspension.sleep(for: .milliseconds(1)))
        let tasks = (0..<10).map { _ in Task { await suspension.sleep(for: .seconds(3600)) } }
        suspension.suspend()
        // Includes tasks that start to sleep only now.
        for _ in 0..<1000 { await Task.yield() }
        let resuming = Task {
            while !Task.isCancelled {
                suspension.resume()
                await Task.yield()
            }
        }
        for task in tasks { #expect(await task.value) }
        resuming.cancel()
    }

    @Test("concurrent suspensions lose no waiter")
    func together() async {
        let suspension = Suspension()
        await withTaskGroup { group in
            for number in 0..<8 {
                group.addTask {
                    for _ in 0..<2000 {
                        if number < 2 {
                            suspension.suspend()
                        } else {
                            _ = await suspension.sleep(for: .microseconds(1))
                        }
                        if number < 4 { suspension.resume() }
                    }
                    suspension.resume()
                }
                group.addTask { for _ in 0..<500 { _ = await suspension.sleep(for: .microseconds(10)) } }
            }
        }
        suspension.resume()
        #expect(await suspension.wait())
    }
}
