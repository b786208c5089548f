import Base
import Glibc

/// Threads of our own for blocking work: files, SQLite, cryptography of a chunk. The cooperative
/// pool has one thread per core; two blocking calls on it stop every other task
/// (measured: 1180 ms instead of 5).
///
/// `run` is the door for a piece of blocking work; as a task executor the pool also runs whole tasks.
public final class ThreadPool: TaskExecutor, @unchecked Sendable {
    // Safe: `queue` and `waiting` are touched only while `mutex` is held.
    private var queue: [@Sendable () -> Void] = []
    private var head = 0
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>

    /// Threads live as long as the process: a pool is made once, at start.
    public init(name: String, threads: Int) {
        mutex = .allocate(capacity: 1)
        condition = .allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(condition, nil)
        for number in 0..<threads { Thread.start("\(name)-\(number)") { self.work() } }
    }

    /// For work of a process that has no pool of its own to prefer.
    public static let shared = ThreadPool(name: "blocking", threads: 8)

    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        submit { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }

    /// Runs `body` on one of the threads, some time. Never blocks the caller.
    public func submit(_ body: @escaping @Sendable () -> Void) {
        pthread_mutex_lock(mutex)
        queue.append(body)
        pthread_cond_signal(condition)
        pthread_mutex_unlock(mutex)
    }

    /// Runs blocking `body` on one of the threads and awaits its result.
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

    private func work() -> Never {
        while true {
            pthread_mutex_lock(mutex)
            while head == queue.count { pthread_cond_wait(condition, mutex) }
            let body = queue[head]
            // What it holds must go when it has run, not when the queue is empty.
            queue[head] = {}
            head += 1
            if head == queue.count {
                queue.removeAll(keepingCapacity: true)
                head = 0
            } else if head >= 1024 {
                queue.removeFirst(head)
                head = 0
            }
            pthread_mutex_unlock(mutex)
            body()
        }
    }
}
