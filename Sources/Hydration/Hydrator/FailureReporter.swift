import Base
import ChatCore
import Posix
import XFTP

/// Turns errors of files into problems for readers, and logs each error once, with its causes. Thread-safe.
final class FailureReporter: Sendable {
    let log = Log("hydration")
    /// Recent log lines, to suppress repetitions.
    private let recent = Lock(RepetitionLimit<String>())
    private let cache: CacheFolder
    private let clock: @Sendable () -> Duration

    init(cache: CacheFolder, clock: @escaping @Sendable () -> Duration) {
        self.cache = cache
        self.clock = clock
    }

    /// Logs an error and returns its problem. For a full disk the problem includes the missing space; a
    /// permanent problem includes the usable parts of a damaged copy.
    /// - Parameter missing: Bytes still to be stored.
    func problem(
        _ error: any Error, of file: FileID, missing: UInt64, remains: String? = nil
    ) -> FileProblem {
        let problem = FileProblem(error).logged
        report(error, of: file)
        if problem.isFinal { return problem.mentioning(remains) }
        guard problem.kind == .noSpace else { return problem }
        let free = cache.freeBytes() ?? 0
        let wanted = ByteCount.rounded(missing > free ? missing - free : missing)
        return FileProblem(.noSpace, "The disk is full: this file needs \(wanted) more.").logged
    }

    /// Logs an error once, even after many tries. Cancelled operations are no failures.
    private func report(_ error: any Error, of file: FileID) {
        if error is CancellationError || (error as? XFTPError)?.code == .cancelled || Task.isCancelled {
            return
        }
        let words = sentenceWithCauses(of: error)
        let now = clock()
        guard case .say(let suppressed) = recent.withLock({ $0.verdict(on: "\(file) \(words)", now: now) })
        else {
            return
        }
        let more = suppressed > 0 ? " suppressed=\(suppressed)" : ""
        log.warning("file failed: file=\(file.rawValue)\(more) error=\(words)")
    }
}
