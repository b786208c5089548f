#if DEBUG
    import Testing

    @testable import Base

    /// What debug builds say about the order of mutexes.
    @Suite("the order of mutexes")
    struct LockOrderTests {
        @Test("mutexes are locked by rising rank, whichever are left out")
        func rising() {
            let operation = BlockingMutex()
            let tree = BlockingMutex(rank: .tree)
            let collection = Lock(1, rank: .collection)
            let leaf = Lock(2)
            for _ in 0..<3 {
                tree.withLock { operation.withLock { collection.withLock { _ in leaf.withLock { _ in } } } }
                tree.withLock { leaf.withLock { _ in } }
                operation.withLock { leaf.withLock { _ in } }
            }
        }

        @Test(
            "by falling rank the process ends, also over others between and where no other thread ever did it"
        )
        func falling() async {
            await #expect(processExitsWith: .failure) {
                let collection = Lock(1, rank: .collection)
                let leaf = Lock(2)
                leaf.withLock { _ in collection.withLock { _ in } }
            }
            await #expect(processExitsWith: .failure) {
                let tree = BlockingMutex(rank: .tree)
                let draft = BlockingMutex(rank: .draft)
                let operation = BlockingMutex()
                tree.withLock { operation.withLock { draft.withLock {} } }
            }
        }

        @Test("so do two of one rank, of which nobody knows the order")
        func siblings() async {
            await #expect(processExitsWith: .failure) {
                let locks = (0..<2).map { Lock($0) }
                locks[0].withLock { _ in locks[1].withLock { _ in } }
            }
            await #expect(processExitsWith: .failure) {
                let first = BlockingMutex(rank: .draft, number: 1)
                let second = BlockingMutex(rank: .draft)
                first.withLock { second.withLock {} }
            }
        }

        @Test("several of one rank are locked by rising number, never by falling")
        func numbers() async {
            let mutexes = (0..<3).map { BlockingMutex(rank: .draft, number: $0) }
            for mutex in mutexes { mutex.lock() }
            for mutex in mutexes { mutex.unlock() }
            await #expect(processExitsWith: .failure) {
                let mutexes = (0..<2).map { BlockingMutex(rank: .draft, number: $0) }
                mutexes[1].withLock { mutexes[0].withLock {} }
            }
        }

        @Test("every pair of ranks: allowed exactly where the second is later", arguments: MutexRank.allCases)
        func pairs(outer: MutexRank) {
            for inner in MutexRank.allCases {
                let held = HeldMutexes.Entry(
                    mutex: address(1), lockClass: LockClass(outer, file: "a", line: 1), number: nil)
                let wanted = HeldMutexes.Entry(
                    mutex: address(2), lockClass: LockClass(inner, file: "b", line: 2), number: nil)
                #expect((LockOrder.objection(to: wanted, under: held) == nil) == (outer < inner))
            }
        }

        private func address(_ number: Int) -> UnsafeRawPointer { UnsafeRawPointer(bitPattern: number)! }

        @Test("what is for memory comes after all that is for input and output")
        func kinds() {
            let kinds = MutexRank.allCases.sorted().map(\.isForInputOutput)
            #expect(kinds == kinds.sorted { $0 && !$1 } && Set(kinds).count == 2)
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
    }
#endif
