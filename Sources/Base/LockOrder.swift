#if DEBUG
    /// Holds the rules about mutexes to account, in debug builds; in release builds none of this exists.
    ///
    /// Each thread knows the mutexes that it holds. The process ends with their names where
    ///
    /// * a mutex is locked under one of the same or a later rank (`MutexRank`): two threads could wait for each other.
    ///   Several of one rank may be locked by rising number, where they have numbers;
    /// * a mutex is locked again by the thread that holds it;
    /// * input and output is done under a mutex for memory: everybody who needs the memory would wait for the disk.
    ///
    /// Threads: any; each knows only its own.
    enum LockOrder {
        /// Before the mutex is waited for.
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

        /// Why one must not be locked while the other is held; nil: it may be.
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
