/// All mutexes that are made at one place in the source, which debug builds see to: see `LockOrder`. Whoever builds a
/// mutex holds one and reports to it; in release builds it is empty and does nothing.
public struct LockClass: Hashable, Sendable {
    public enum Purpose: Sendable {
        /// Guards memory: held for moments, never over input and output.
        case memory
        /// Puts operations one after the other: held over files and databases.
        case inputOutput
    }

    #if DEBUG
        let number: Int
        let purpose: Purpose

        private static let names = LockClassNames()

        /// - Parameter file: with `line` where the mutex is made, as a default argument of its initialiser.
        public init(_ purpose: Purpose, file: StaticString, line: UInt) {
            self.purpose = purpose
            number = Self.names.number(of: "\(file):\(line)")
        }

        /// Before the mutex at this address is waited for.
        /// - Parameter rank: where several of one class are held at once, they are locked by rising rank.
        public func willLock(_ mutex: UnsafeRawPointer, rank: Int64? = nil) {
            LockOrder.willLock(mutex, self, rank: rank)
        }

        /// By the thread that locked it.
        public func didUnlock(_ mutex: UnsafeRawPointer) { LockOrder.didUnlock(mutex) }

        /// Traps when this thread holds a mutex for memory. To be called by what blocks.
        public static func expectNoMemoryMutex(during operation: StaticString) {
            if let held = LockOrder.heldMemoryMutex { fatalError("\(operation): while \(held) is held") }
        }

        static func name(ofNumber number: Int) -> String { "the mutex of \(names.name(number))" }
    #else
        @inlinable @inline(__always)
        public init(_ purpose: Purpose, file: StaticString, line: UInt) {}

        @inlinable @inline(__always)
        public func willLock(_ mutex: UnsafeRawPointer, rank: Int64? = nil) {}

        @inlinable @inline(__always)
        public func didUnlock(_ mutex: UnsafeRawPointer) {}

        @inlinable @inline(__always)
        public static func expectNoMemoryMutex(during operation: StaticString) {}
    #endif
}

#if DEBUG
    extension LockClass: CustomStringConvertible {
        public var description: String { Self.name(ofNumber: number) }
    }

    /// Numbers for names. Any thread.
    private final class LockClassNames: @unchecked Sendable {
        // Safe: touched only while `mutex` is held. Not a `Lock`, which has a class itself.
        private var numbers: [String: Int] = [:]
        private var names: [String] = []
        private let mutex = PthreadMutex()

        func number(of name: String) -> Int {
            mutex.lock()
            defer { mutex.unlock() }
            if let number = numbers[name] { return number }
            names.append(name)
            numbers[name] = names.count - 1
            return names.count - 1
        }

        func name(_ number: Int) -> String {
            mutex.lock()
            defer { mutex.unlock() }
            return names[number]
        }
    }
#endif
