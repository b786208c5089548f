import Glibc
import Posix

/// An operation that failed on the mount for a program, as far as it says something about what that writes.
public enum FailedOperation: Hashable, Sendable {
    /// A read of a file failed.
    case read
    /// A rename was refused: of this draft, or of something else.
    case rename(draft: Int64?)
    /// A change of owner or mode was refused.
    case attributes
}

extension Outbox {
    /// Notes that an operation has failed for `thread`, which waits for the answer (0 when the kernel does not say who).
    /// What that says about drafts is noted when this returns. Blocks for a moment.
    public func note(_ failure: FailedOperation, by thread: pid_t) {
        let writer = context.writers.writer(of: thread)
        switch failure {
        case .read: if let writer { noteFailedRead(by: writer) }
        case .attributes: writer?.noteRefusedAttributes()
        case .rename(let renamed):
            if let renamed { draft(renamed)?.noteRefusedRename(by: nil) }
            guard let writer else { return }
            for draft in drafts() where draft.state == .draft { draft.noteRefusedRename(by: writer) }
        }
    }

    /// Drafts that it writes itself, or that others write from what it reads: `cat a | gzip > b`.
    private func noteFailedRead(by reader: WriterProcess) {
        context.writers.noteFailedRead(by: reader)
        let open = drafts().filter { !$0.writerProcesses.isEmpty }
        guard !open.isEmpty else { return }
        let pipes = ProcessPipes.identifiers(of: reader.process)
        for draft in open {
            draft.noteFailedRead(by: reader) { writer in
                writer === reader
                    || !pipes.isDisjoint(
                        with: pipes.isEmpty ? [] : ProcessPipes.identifiers(of: writer.process))
            }
        }
    }
}
