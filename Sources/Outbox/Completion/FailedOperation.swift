import Glibc
import Posix

/// A failed operation on the mount that is evidence about drafts of the calling program.
public enum FailedOperation: Hashable, Sendable {
    /// A read of a file failed.
    case read
    /// A rename was refused, of this draft or of another entry.
    case rename(draft: Int64?)
    /// A change of the owner was refused, of this draft or of another entry.
    case owner(draft: Int64?)
}

extension Outbox {
    /// Records a failed operation before it returns. Blocks briefly.
    /// - Parameter thread: The waiting caller; 0 if unknown.
    public func note(_ failure: FailedOperation, by thread: pid_t) {
        let writer = context.writers.writer(of: thread)
        switch failure {
        case .read: if let writer { noteFailedRead(by: writer) }
        case .owner(let draft):
            if let draft, let writer { self.draft(draft)?.noteRefusedOwner(by: writer) }
        case .rename(let renamed):
            if let renamed { draft(renamed)?.noteRefusedRename(by: nil) }
            guard let writer else { return }
            for draft in drafts() where draft.state == .draft { draft.noteRefusedRename(by: writer) }
        }
    }

    /// Marks drafts written by the reader or by processes that read from its pipe, as in `cat a | gzip > b`.
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
