/// A context of OpenSSL that bytes run through, with the semantics of a value: it is copied before it is
/// changed when another value shares it.
struct RunningContext: Sendable {
    /// How OpenSSL copies and frees this kind of context.
    struct Kind: Sendable {
        let copy: @Sendable (OpaquePointer) -> OpaquePointer?
        let free: @Sendable (OpaquePointer) -> Void
    }

    private final class Owner: @unchecked Sendable {
        // Safe: changed only through a `RunningContext` that holds the one reference to it.
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

    /// - Parameter fresh: belongs to this value from now on; nil where there was no memory for it.
    init(_ fresh: OpaquePointer?, _ kind: Kind) { owner = Owner(fresh, kind) }

    /// Changes the context by a call that answers 1.
    mutating func change(_ call: (OpaquePointer) -> Int32) {
        if !isKnownUniquelyReferenced(&owner) { owner = owner.copy() }
        let done = call(owner.pointer)
        precondition(done == 1, "OpenSSL refused a hash or an authenticator")
    }

    /// What a call that ends a context gives, at most `capacity` bytes. More may follow in this one.
    func ending(
        capacity: Int, _ call: (OpaquePointer, UnsafeMutablePointer<UInt8>?, inout Int) -> Int32
    ) -> [UInt8] {
        let last = owner.copy()
        return [UInt8](unsafeUninitializedCapacity: capacity) { buffer, count in
            let done = call(last.pointer, buffer.baseAddress, &count)
            precondition(done == 1, "OpenSSL refused a hash or an authenticator")
        }
    }
}
