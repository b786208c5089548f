import Glibc
import Posix

/// The evidence of a close about the writer.
enum DescriptorClose: Hashable, CaseIterable, Sendable {
    /// The writer has finished for now, as far as known.
    case finished
    /// The writer was killed.
    case killed
    /// Another process closed its copy of the descriptor; no evidence.
    case foreign
}

extension DescriptorClose {
    /// Classifies a close by proc(5), while the thread waits for the reply.
    /// - Parameters:
    ///   - thread: The closing thread; 0 if unknown.
    ///   - last: The last writer through the handle, and whether it has closed a descriptor since; nil without a write.
    /// - Returns: The close, and how the process of `thread` ends; nil if it does not end or was not checked.
    static func looked(
        at thread: pid_t, lastWriter last: (thread: pid_t?, isFinished: Bool)?
    ) -> (close: DescriptorClose, outcome: ProcessOutcome?) {
        // Before the first write no bytes can be missing.
        guard let last, thread > 0 else { return (.finished, nil) }
        if let writer = last.thread, writer != thread {
            // A child that inherited the descriptor closes it without writing. An ended writer thread
            // belonged to the caller, or to a program that closed its copy at exit.
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
