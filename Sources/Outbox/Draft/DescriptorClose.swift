import Glibc
import Posix

/// What the close of a descriptor says about who wrote through it.
enum DescriptorClose: Hashable, CaseIterable, Sendable {
    /// The writer has said what he had to say, as far as that can be known: more may follow.
    case finished
    /// The writer was killed.
    case killed
    /// Somebody else's copy of the descriptor: it says nothing.
    case foreign
}

extension DescriptorClose {
    /// By what proc(5) tells of a thread that waits for the answer to its close.
    /// - Parameters:
    ///   - thread: 0 when the kernel does not say who.
    ///   - last: who wrote last through the opening, and whether he has closed a descriptor since; nil when
    ///     nothing was written.
    /// - Returns: and how the process of `thread` is ending, nil where it is not, or that was not looked at.
    static func looked(
        at thread: pid_t, lastWriter last: (thread: pid_t?, isFinished: Bool)?
    ) -> (close: DescriptorClose, outcome: ProcessOutcome?) {
        // Before the first write nothing can be missing.
        guard let last, thread > 0 else { return (.finished, nil) }
        if let writer = last.thread, writer != thread {
            // A child that was started with a copy of the descriptor closes that: it did not write. A thread that
            // has ended since it wrote was the caller's, or of a program that closed its own copy as it ended.
            let process = ProcessEnding.process(of: writer)
            let isForeign =
                if let process { process != ProcessEnding.process(of: thread) } else { last.isFinished }
            if isForeign { return (.foreign, nil) }
        }
        let outcome = ProcessEnding.outcome(of: thread)
        if case .signalled? = outcome { return (.killed, outcome) }
        return (.finished, outcome)
    }
}
