/// All mutexes created at one place in the source, for the checks of debug builds: see `LockOrder`. Each mutex holds
/// one and reports to it. Empty in release builds.
public struct LockClass: Sendable {
    #if DEBUG
        let rank: MutexRank
        private let file: StaticString
        private let line: UInt

        /// - Parameter file: With `line`, the place of the creation, as a default argument of the initialiser.
        public init(_ rank: MutexRank, file: StaticString, line: UInt) {
            (self.rank, self.file, self.line) = (rank, file, line)
        }

        /// Call before waiting for the mutex at this address.
        /// - Parameter number: Several mutexes of one rank are locked by rising number.
        public func willLock(_ mutex: UnsafeRawPointer, number: Int64? = nil) {
            LockOrder.willLock(mutex, self, number: number)
        }

        /// Call on the thread that locked it.
        public func didUnlock(_ mutex: UnsafeRawPointer) { LockOrder.didUnlock(mutex) }

        /// Traps if this thread holds a mutex for memory. Call before blocking.
        public static func expectNoMemoryMutex(during operation: StaticString) {
            if let held = LockOrder.heldMemoryMutex { fatalError("\(operation): while \(held) is held") }
        }
    #else
        @inlinable @inline(__always)
        public init(_ rank: MutexRank, file: StaticString, line: UInt) {}

        @inlinable @inline(__always)
        public func willLock(_ mutex: UnsafeRawPointer, number: Int64? = nil) {}

        @inlinable @inline(__always)
        public func didUnlock(_ mutex: UnsafeRawPointer) {}

        @inlinable @inline(__always)
        public static func expectNoMemoryMutex(during operation: StaticString) {}
    #endif
}

#if DEBUG
    extension LockClass: CustomStringConvertible {
        public var description: String { "the mutex of \(file):\(line) (\(rank))" }
    }
#endif
