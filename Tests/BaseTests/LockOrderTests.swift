#if DEBUG
    import Testing

    @testable import Base

    /// The checks of debug builds about the order of mutexes.
    @Suite("the order of mutexes")
    struct LockOrderTests {
        @Test("rising ranks may be locked")
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
            "falling ranks trap"
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

        @Test("two of one rank trap")
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

        @Test("numbered mutexes of one rank need rising numbers")
        func numbers() async {
            let mutexes = (0..<3).map { BlockingMutex(rank: .draft, number: $0) }
            for mutex in mutexes { mutex.lock() }
            for mutex in mutexes { mutex.unlock() }
            await #expect(processExitsWith: .failure) {
                let mutexes = (0..<2).map { BlockingMutex(rank: .draft, number: $0) }
                mutexes[1].withLock { mutexes[0].withLock {} }
            }
        }

        @Test("a pair is permitted only by rising rank", arguments: MutexRank.allCases)
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

        @Test("ranks for memory follow those for I/O")
        func kinds() {
            let kinds = MutexRank.allCases.sorted().map(\.isForInputOutput)
            #expect(kinds == kinds.sorted { $0 && !$1 } && Set(kinds).count == 2)
        }

        @Test("relocking traps")
        func itself() async {
            await #expect(processExitsWith: .failure) {
                let lock = Lock(1)
                lock.withLock { _ in lock.withLock { _ in } }
            }
        }

        @Test("I/O under a mutex for memory traps")
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
