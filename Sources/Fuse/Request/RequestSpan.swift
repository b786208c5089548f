import Glibc

/// One request of the kernel from its reading to its reply.
struct RequestSpan: Sendable {
    /// The kernel's number of the request (`unique` in `linux/fuse.h`), which its own traces have too.
    let number: UInt64
    /// Operation of `linux/fuse.h`.
    let operation: UInt32
    /// Monotonic time of the reading in nanoseconds.
    let beginning: UInt64

    init(number: UInt64, operation: UInt32) {
        self.number = number
        self.operation = operation
        beginning = Self.now()
    }

    /// Nanoseconds since the reading.
    var age: UInt64 { Self.now() &- beginning }

    private static func now() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
    }
}

/// The request that a thread has read and that libfuse is about to decode. libfuse does not expose the request's
/// number, so the thread's own memory carries the span over libfuse to `Request`.
struct DecodedRequest: ~Copyable {
    private let span: UnsafeMutablePointer<RequestSpan?>

    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        let result = pthread_key_create(&key, nil)
        precondition(result == 0, "there are no keys for the memory of threads")
        return key
    }()

    /// For the calling thread until its end.
    init() {
        span = .allocate(capacity: 1)
        span.initialize(to: nil)
        pthread_setspecific(Self.key, span)
    }

    deinit {
        pthread_setspecific(Self.key, nil)
        span.deallocate()
    }

    /// Runs `decode` on a request. Returns its span if `decode` took none, because libfuse answered the request itself.
    borrowing func during(_ span: RequestSpan, _ decode: () -> Void) -> RequestSpan? {
        self.span.pointee = span
        decode()
        defer { self.span.pointee = nil }
        return self.span.pointee
    }

    /// The span of the request that this thread decodes, at most once per request.
    static func take() -> RequestSpan {
        guard
            let span = pthread_getspecific(key)?.assumingMemoryBound(to: RequestSpan?.self),
            let taken = span.pointee
        else { return RequestSpan(number: 0, operation: .max) }
        span.pointee = nil
        return taken
    }
}
