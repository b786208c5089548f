import Glibc
import Namespace
import Outbox
import Posix

/// An open file. The kernel holds it between open and release.
public final class FileHandle: Sendable {
    let node: Node
    let source: any OpenSource

    init(node: Node, source: any OpenSource) {
        self.node = node
        self.source = source
    }

    public var id: NodeID { node.id }

    /// A cache file with all bytes, verified; nil until the file is complete.
    public var wholePlainFile: OpenFile? { source.wholePlainFile }

    /// True if the opening is read-only, so that FLUSH has no effect.
    public var needsNoFlush: Bool { !source.isForWriting }

    /// True if the kernel may keep pages of earlier openings.
    public var keepsPages: Bool { source.keepsPages }

    /// True if the size in `stat` may be wrong by the time of the read.
    public var bypassesPages: Bool { source.bypassesPages }
}

/// The source and destination of one opening's bytes: `ItemSource`, `DraftSource`, `ProducedSource`, … The defaults
/// below are those of a read-only source.
protocol OpenSource: Sendable {
    var wholePlainFile: OpenFile? { get }
    var keepsPages: Bool { get }
    var bypassesPages: Bool { get }
    var isForWriting: Bool { get }
    /// True if a program may be in the middle of writing.
    var isUnfinished: Bool { get }
    /// The open draft.
    var draft: (any DraftFile)? { get }
    /// The draft's opening.
    var draftOpening: DraftOpening? { get }

    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) -> ReadAnswer
    func readWasAnswered()
    func write(
        _ bytes: UnsafeRawBufferPointer, at offset: UInt64, by thread: pid_t
    ) -> Result<Int, FileSystemError>
    func flush(by thread: pid_t)
    func synchronise() -> Answer<Void>
    /// Called once, after all other calls.
    func close()
}

extension OpenSource {
    var wholePlainFile: OpenFile? { nil }
    var keepsPages: Bool { true }
    var bypassesPages: Bool { false }
    var isForWriting: Bool { false }
    var isUnfinished: Bool { false }
    var draft: (any DraftFile)? { nil }
    var draftOpening: DraftOpening? { nil }

    func readWasAnswered() {}
    func write(
        _ bytes: UnsafeRawBufferPointer, at offset: UInt64, by thread: pid_t
    ) -> Result<Int, FileSystemError> { .failure(.badHandle) }
    func flush(by thread: pid_t) {}
    func synchronise() -> Answer<Void> { .done(()) }
    func close() {}
}
