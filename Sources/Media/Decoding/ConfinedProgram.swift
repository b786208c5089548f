import Base
import Glibc
import Posix

/// A program that works on bytes of strangers, run to its end or killed.
struct ConfinedProgram: Sendable {
    enum Outcome: Equatable, Sendable {
        /// Its exit code, and what it wrote.
        case ended(Int32, output: [UInt8])
        /// It crashed, or asked for more than it may use.
        case crashed
        /// It could not be started or given its input, or was too slow.
        case notFinished
    }

    /// How it is started; `confinement` is set.
    let settings: ChildProcess.Settings
    /// Killed after this long.
    let timeout: Duration
    /// Bytes that it may write.
    let maxOutput: Int

    /// Who runs at the same time.
    var places = usualPlaces

    /// Two at a time, so that one that is held up does not hold up all.
    static let usualPlaces = Places(2)
    private static let pool = ThreadPool(name: "preview", threads: 4)

    /// - Parameter feed: writes its input to a pipe, on a thread that may block.
    func run(feed: @escaping @Sendable (OpenFile) throws -> Void) async -> Outcome {
        await places.with { await runInPlace(feed) }
    }

    private func runInPlace(_ feed: @escaping @Sendable (OpenFile) throws -> Void) async -> Outcome {
        let child: ChildProcess
        do {
            child = try await ChildProcess.start(settings)
        } catch {
            log.warning("a preview could not be made: \(sentenceWithCauses(of: error))")
            return .notFinished
        }
        let wasTooSlow = Lock(false)
        let watch = Task {
            try await Task.sleep(for: timeout)
            wasTooSlow.withLock { $0 = true }
            child.send(SIGKILL)
        }
        defer { watch.cancel() }
        let output = await Self.pool.run { exchange(with: child, feed) }
        if output == nil { child.send(SIGKILL) }
        guard let ending = await child.ending(within: timeout), let output, !wasTooSlow.withLock({ $0 })
        else {
            return .notFinished
        }
        switch ending {
        case .code(let code): return .ended(code, output: output)
        case .signal: return .crashed
        }
    }

    /// What it wrote, or nil when it did not get its input or wrote too much. Blocks.
    private func exchange(with child: ChildProcess, _ feed: (OpenFile) throws -> Void) -> [UInt8]? {
        do {
            if let input = child.input { try feed(input) }
        } catch let error as SystemError where error.code == EPIPE {
            // It has ended or wants no more; what it wrote and how it ended says why.
        } catch {
            log.warning("the content of a preview could not be read: \(sentenceWithCauses(of: error))")
            return nil
        }
        // Too much, or nothing more: then how it ended counts.
        return try? child.output?.receiveAll(limit: maxOutput)
    }
}
