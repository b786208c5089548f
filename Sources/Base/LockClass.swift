/// All mutexes that are made at one place in the source, which debug builds see to: see `LockOrder`. Whoever builds a
/// mutex holds one and reports to it; in release builds it is empty and does nothing.
public struct LockClass: Sendable {
    #if DEBUG
        let rank: MutexRank
        private let file: StaticString
        private let line: UInt

        /// - Parameter file: with `line` where the mutex is made, as a default argument of its initialiser.
        public init(_ rank: MutexRank, file: StaticString, line: UInt) {
            (self.rank, self.file, self.line) = (rank, file, line)
        }

        /// Before the mutex at this address is waited for.
        /// - Parameter number: where a thread may hold several of one rank, it locks them by rising number.
        public func willLock(_ mutex: UnsafeRawPointer, number: Int64? = nil) {
            LockOrder.willLock(mutex, self, number: number)
        }

        /// By the thread that locked it.
        public func didUnlock(_ mutex: UnsafeRawPointer) { LockOrder.didUnlock(mutex) }

        /// Traps when this thread holds a mutex for memory. To be called by what blocks.
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
