#if DEBUG
    import Glibc

    /// The mutexes that a thread holds, in locking order. Used by that thread only.
    final class HeldMutexes {
        struct Entry {
            let mutex: UnsafeRawPointer
            let lockClass: LockClass
            /// The number within its rank, if several may be held.
            let number: Int64?
        }

        var entries: [Entry] = []

        static var ofThread: HeldMutexes {
            if let known = pthread_getspecific(key) {
                return Unmanaged<HeldMutexes>.fromOpaque(known).takeUnretainedValue()
            }
            let made = HeldMutexes()
            pthread_setspecific(key, Unmanaged.passRetained(made).toOpaque())
            return made
        }

        private static let key: pthread_key_t = {
            var key = pthread_key_t()
            pthread_key_create(&key) { value in
                if let value { Unmanaged<HeldMutexes>.fromOpaque(value).release() }
            }
            return key
        }()
    }
#endif
