#if DEBUG
    /// Holds the rules about mutexes to account, in debug builds; in release builds none of this exists.
    ///
    /// Each thread knows the mutexes that it holds. All mutexes made at one place in the source are one class. Locking
    /// one while another is held says that the classes come in this order; the process ends with both names where
    ///
    /// * the classes came in the other order before, directly or over others: two threads could wait for each other;
    ///   several of one class come by rising rank;
    /// * a mutex is locked again by the thread that holds it;
    /// * a mutex for input and output is waited for, or input and output is done, while a mutex for memory is held:
    ///   everybody who needs the memory would wait for the disk.
    ///
    /// Threads: any. The graph has a mutex of its own, taken only when a thread meets an order for the first time.
    enum LockOrder {
        private static let graph = LockGraph()

        /// Before the mutex is waited for.
        static func willLock(_ mutex: UnsafeRawPointer, _ lockClass: LockClass, rank: Int64?) {
            let thread = HeldMutexes.ofThread
            let entry = HeldMutexes.Entry(mutex: mutex, lockClass: lockClass, rank: rank)
            for held in thread.entries { check(held, entry, thread) }
            thread.entries.append(entry)
        }

        static func didUnlock(_ mutex: UnsafeRawPointer) {
            let thread = HeldMutexes.ofThread
            guard let index = thread.entries.lastIndex(where: { $0.mutex == mutex }) else {
                fatalError("a mutex is unlocked by a thread that did not lock it")
            }
            thread.entries.remove(at: index)
        }

        /// The innermost mutex for memory that this thread holds.
        static var heldMemoryMutex: LockClass? {
            HeldMutexes.ofThread.entries.last { $0.lockClass.purpose == .memory }?.lockClass
        }

        private static func check(
            _ held: HeldMutexes.Entry, _ wanted: HeldMutexes.Entry, _ thread: HeldMutexes
        ) {
            let lockClass = wanted.lockClass
            if held.mutex == wanted.mutex { fatalError("\(lockClass) is locked by the thread that holds it") }
            if held.lockClass.purpose == .memory, lockClass.purpose == .inputOutput {
                fatalError("\(lockClass), for input and output, is locked while \(held.lockClass) is held")
            }
            if held.lockClass == lockClass, let lower = held.rank, let higher = wanted.rank, lower < higher {
                return
            }
            let order = LockGraph.Edge(first: held.lockClass.number, second: lockClass.number)
            guard thread.knownOrders.insert(order).inserted, let cycle = graph.add(order) else { return }
            let names = cycle.map(LockClass.name(ofNumber:)).joined(separator: " before ")
            fatalError("mutexes are locked in an order that contradicts itself: \(names)")
        }
    }
#endif
