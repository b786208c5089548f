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
    init(by thread: pid_t, lastWriter last: (thread: pid_t?, isFinished: Bool)?) {
        // Before the first write nothing can be missing.
        guard let last, thread > 0 else {
            self = .finished
            return
        }
        if let writer = last.thread, writer != thread {
            // A child that was started with a copy of the descriptor closes that: it did not write. A thread that
            // has ended since it wrote was the caller's, or of a program that closed its own copy as it ended.
            let process = ProcessEnding.process(of: writer)
            let isForeign =
                if let process { process != ProcessEnding.process(of: thread) } else { last.isFinished }
            if isForeign {
                self = .foreign
                return
            }
        }
        self = ProcessEnding.isKilled(thread) ? .killed : .finished
    }
}
