import Base
import Glibc
import Posix

/// Runs a confined program on untrusted bytes until it ends or is killed.
struct ConfinedProgram: Sendable {
    enum Outcome: Equatable, Sendable {
        /// Its exit code and output.
        case ended(Int32, output: [UInt8])
        /// It crashed or exceeded its limits.
        case crashed
        /// It could not be started, could not be given its input, or timed out.
        case notFinished
    }

    /// The start settings, including `confinement`.
    let settings: ChildProcess.Settings
    /// The time after which it is killed.
    let timeout: Duration
    /// The maximum output in bytes.
    let maxOutput: Int

    /// Limits the number of concurrent programs.
    var places = usualPlaces

    /// Two at a time, so that a stalled one does not block all.
    static let usualPlaces = AsyncSemaphore(2)
    private static let pool = ThreadPool(name: "preview", threads: 4)

    /// - Parameter feed: Writes the input to a pipe, on a thread that may block.
    func run(feed: @escaping @Sendable (OpenFile) throws -> Void) async -> Outcome {
        // In a task of its own, because a cancelled one gets no place.
        _ = await Task { [places] in await places.acquire() }.value
        defer { places.release() }
        return await runInPlace(feed)
    }

    private func runInPlace(_ feed: @escaping @Sendable (OpenFile) throws -> Void) async -> Outcome {
        let child: ChildProcess
        do {
            child = try await ChildProcess.start(settings)
        } catch {
            log.warning("preview program not started: error=\(sentenceWithCauses(of: error))")
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

    /// Returns the output, or nil if the input failed or the output is too long. Blocks.
    private func exchange(with child: ChildProcess, _ feed: (OpenFile) throws -> Void) -> [UInt8]? {
        do {
            if let input = child.input { try feed(input) }
        } catch let error as SystemError where error.code == EPIPE {
            // The program stopped reading; its exit code and output tell the reason.
        } catch {
            log.warning("preview content not read: error=\(sentenceWithCauses(of: error))")
            return nil
        }
        // nil for too much output; otherwise the exit code decides.
        return try? child.output?.receiveAll(limit: maxOutput)
    }
}
