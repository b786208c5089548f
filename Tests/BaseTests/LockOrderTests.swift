#if DEBUG
    import Testing

    @testable import Base

    /// What debug builds say about the order of mutexes.
    @Suite("the order of mutexes")
    struct LockOrderTests {
        @Test("one order, however often and over however many, is no contradiction")
        func consistent() {
            let first = Lock(1)
            let second = Lock(2)
            let third = Lock(3)
            for _ in 0..<3 {
                first.withLock { _ in second.withLock { _ in third.withLock { _ in } } }
                first.withLock { _ in third.withLock { _ in } }
                second.withLock { _ in third.withLock { _ in } }
            }
        }

        @Test("the other way round ends the process")
        func contradiction() async {
            await #expect(processExitsWith: .failure) {
                let first = Lock(1)
                let second = Lock(2)
                first.withLock { _ in second.withLock { _ in } }
                second.withLock { _ in first.withLock { _ in } }
            }
        }

        @Test("so does a circle over a third, on several threads")
        func circle() async {
            await #expect(processExitsWith: .failure) {
                let first = Lock(1)
                let second = Lock(2)
                let third = Lock(3)
                await Task.detached { first.withLock { _ in second.withLock { _ in } } }.value
                await Task.detached { second.withLock { _ in third.withLock { _ in } } }.value
                await Task.detached { third.withLock { _ in first.withLock { _ in } } }.value
            }
        }

        @Test("so do two of one kind, of which nobody knows the order")
        func siblings() async {
            await #expect(processExitsWith: .failure) {
                let locks = (0..<2).map { Lock($0) }
                locks[0].withLock { _ in locks[1].withLock { _ in } }
            }
        }

        @Test("several of one kind are locked by rising rank, never by falling")
        func ranks() async {
            let mutexes = (0..<3).map { BlockingMutex(rank: $0) }
            for mutex in mutexes { mutex.lock() }
            for mutex in mutexes { mutex.unlock() }
            await #expect(processExitsWith: .failure) {
                let mutexes = (0..<2).map { BlockingMutex(rank: $0) }
                mutexes[1].withLock { mutexes[0].withLock {} }
            }
        }

        @Test("so does a thread that would wait for itself")
        func itself() async {
            await #expect(processExitsWith: .failure) {
                let lock = Lock(1)
                lock.withLock { _ in lock.withLock { _ in } }
            }
        }

        @Test("so does waiting for the disk while memory is locked, and not the other way round")
        func inputOutput() async {
            let memory = Lock(1)
            let operation = BlockingMutex()
            operation.withLock { memory.withLock { _ in } }
            operation.withLock { LockClass.expectNoMemoryMutex(during: "reading a file") }
            await #expect(processExitsWith: .failure) {
                let memory = Lock(1)
                let operation = BlockingMutex()
                memory.withLock { _ in operation.withLock {} }
            }
            await #expect(processExitsWith: .failure) {
                let memory = Lock(1)
                memory.withLock { _ in LockClass.expectNoMemoryMutex(during: "reading a file") }
            }
        }

        @Test(
            "an order is refused exactly where a walk over all others leads back",
            arguments: 0..<50 as Range<UInt64>)
        func model(seed: UInt64) {
            var random = seed &* 0x9E37_79B9_7F4A_7C15 | 1
            func number(below limit: Int) -> Int {
                random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                return Int(random >> 33) % limit
            }
            let graph = LockGraph()
            var reaches = (0..<12).map { Set([$0]) }
            for _ in 0..<60 {
                let edge = LockGraph.Edge(first: number(below: 12), second: number(below: 12))
                let cycle = graph.add(edge)
                #expect((cycle != nil) == reaches[edge.second].contains(edge.first))
                if let cycle {
                    #expect(cycle.first == edge.second && cycle.last == edge.second)
                    continue
                }
                for start in reaches.indices where reaches[start].contains(edge.first) {
                    reaches[start].formUnion(reaches[edge.second])
                }
            }
        }
    }
#endif
