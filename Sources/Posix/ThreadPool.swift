import Base

/// Own threads for blocking work: files, SQLite, cryptography of a chunk. The cooperative pool has one thread per core,
/// so two blocking calls there stop every other task (measured: 1180 ms instead of 5).
///
/// `run` performs one piece of blocking work. As a task executor, the pool runs whole tasks.
public final class ThreadPool: TaskExecutor {
    private typealias Work = @Sendable () -> Void

    /// Waiting work in its order; the part before `head` has started.
    private struct Queue {
        private var work: [Work] = []
        private var head = 0

        mutating func append(_ body: @escaping Work) { work.append(body) }

        mutating func next() -> Work? {
            guard head < work.count else { return nil }
            let body = work[head]
            // Release its captures after the run, not when the queue is empty.
            work[head] = {}
            head += 1
            if head == work.count {
                work.removeAll(keepingCapacity: true)
                head = 0
            } else if head >= 1024 {
                work.removeFirst(head)
                head = 0
            }
            return body
        }
    }

    private let queue = Monitor(Queue(), rank: .innermost)

    /// Threads live as long as the process, so create pools only at start.
    public init(name: String, threads: Int) {
        for number in 0..<threads {
            Thread.start("\(name)-\(number)") {
                while true { self.queue.wait { $0.next() }() }
            }
        }
    }

    /// For work without a preferred pool.
    public static let shared = ThreadPool(name: "blocking", threads: 8)

    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        submit { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }

    /// Runs `body` later on a thread of the pool. Never blocks.
    public func submit(_ body: @escaping @Sendable () -> Void) {
        queue.change { $0.append(body) }
    }

    /// Runs blocking `body` on a thread of the pool and returns its result.
    public func run<Result: Sendable, Failure: Error>(
        _ body: @escaping @Sendable () throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        let outcome: Swift.Result<Result, Failure> = await withCheckedContinuation { continuation in
            submit {
                do throws(Failure) {
                    continuation.resume(returning: .success(try body()))
                } catch {
                    continuation.resume(returning: .failure(error))
                }
            }
        }
        return try outcome.get()
    }
}
