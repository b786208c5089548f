/// An OpenSSL context with value semantics: a shared context is copied before a change.
struct RunningContext: Sendable {
    /// The functions that copy and free this kind of context.
    struct Kind: Sendable {
        let copy: @Sendable (OpaquePointer) -> OpaquePointer?
        let free: @Sendable (OpaquePointer) -> Void
    }

    private final class Owner: @unchecked Sendable {
        // Safe: changed only through a `RunningContext` with the only reference.
        let pointer: OpaquePointer
        let kind: Kind

        init(_ pointer: OpaquePointer?, _ kind: Kind) {
            guard let pointer else { preconditionFailure("out of memory") }
            self.pointer = pointer
            self.kind = kind
        }

        deinit { kind.free(pointer) }

        func copy() -> Owner { Owner(kind.copy(pointer), kind) }
    }

    private var owner: Owner

    /// - Parameter fresh: A context that this value owns from now on, or nil if memory was exhausted.
    init(_ fresh: OpaquePointer?, _ kind: Kind) { owner = Owner(fresh, kind) }

    /// Changes the context. `call` returns 1 on success.
    mutating func change(_ call: (OpaquePointer) -> Int32) {
        if !isKnownUniquelyReferenced(&owner) { owner = owner.copy() }
        let done = call(owner.pointer)
        precondition(done == 1, "OpenSSL failed to hash or authenticate")
    }

    /// Returns the result of a finishing call on a copy, at most `capacity` bytes. This context can continue.
    func ending(
        capacity: Int, _ call: (OpaquePointer, UnsafeMutablePointer<UInt8>?, inout Int) -> Int32
    ) -> [UInt8] {
        let last = owner.copy()
        return [UInt8](unsafeUninitializedCapacity: capacity) { buffer, count in
            let done = call(last.pointer, buffer.baseAddress, &count)
            precondition(done == 1, "OpenSSL failed to hash or authenticate")
        }
    }
}
