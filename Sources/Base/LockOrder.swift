#if DEBUG
    /// Enforces the rules about mutexes in debug builds. Absent from release builds.
    ///
    /// Each thread records the mutexes that it holds. The process ends with their names if
    ///
    /// * a mutex is locked under one of the same or a later rank (`MutexRank`), because two threads could wait for each
    ///   other. Numbered mutexes of one rank may be locked by rising number;
    /// * a thread locks a mutex that it holds;
    /// * I/O happens under a mutex for memory, because its users would wait for the disk.
    ///
    /// Safe to use from any thread; each sees its own mutexes only.
    enum LockOrder {
        /// Call before waiting for the mutex.
        static func willLock(_ mutex: UnsafeRawPointer, _ lockClass: LockClass, number: Int64?) {
            let thread = HeldMutexes.ofThread
            let entry = HeldMutexes.Entry(mutex: mutex, lockClass: lockClass, number: number)
            for held in thread.entries {
                if let objection = objection(to: entry, under: held) { fatalError(objection) }
            }
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
            HeldMutexes.ofThread.entries.last { !$0.lockClass.rank.isForInputOutput }?.lockClass
        }

        /// Returns the reason for not locking one under the other, or nil if it is permitted.
        static func objection(to wanted: HeldMutexes.Entry, under held: HeldMutexes.Entry) -> String? {
            let (outer, inner) = (held.lockClass, wanted.lockClass)
            if held.mutex == wanted.mutex { return "\(inner) is locked by the thread that holds it" }
            if outer.rank < inner.rank { return nil }
            if outer.rank == inner.rank, let lower = held.number, let higher = wanted.number, lower < higher {
                return nil
            }
            return "\(inner) is locked while \(outer) is held, against the order of ranks"
        }
    }
#endif
