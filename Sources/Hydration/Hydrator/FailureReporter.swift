import Base
import ChatCore
import Posix
import XFTP

/// Tells what went wrong with a file: to its readers as a problem, and once to the log. Any thread.
final class FailureReporter: Sendable {
    let log = Log("hydration")
    /// What was logged a moment ago.
    private let recent = Lock(RepetitionLimit<String>())
    private let cache: BlockCache
    private let clock: @Sendable () -> Duration

    init(cache: BlockCache, clock: @escaping @Sendable () -> Duration) {
        self.cache = cache
        self.clock = clock
    }

    /// The problem behind an error, which is logged; a full disk with how much was missing, and one that is for
    /// good with what is left of a damaged copy.
    func problem(
        _ error: any Error, of file: FileID, missing: UInt64, remains: String? = nil
    ) -> FileProblem {
        let problem = FileProblem(error)
        report(error, of: file)
        if problem.isFinal { return problem.mentioning(remains) }
        guard problem.kind == .noSpace else { return problem }
        let free = cache.freeBytes() ?? 0
        let wanted = ByteCount.rounded(missing > free ? missing - free : missing)
        return FileProblem(.noSpace, "The disk is full: \(wanted) more are needed to hold this file.")
    }

    /// Once, however often the same is tried again. What was given up, because nobody wants it any more or at the
    /// end, did not fail.
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
        let more = suppressed > 0 ? " (and \(suppressed) more before)" : ""
        log.warning("file \(file.rawValue): \(words)\(more)")
    }
}
