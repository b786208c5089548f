import Glibc
import Namespace
import Outbox
import Posix

/// One open file. The kernel keeps it between open and release.
public final class FileHandle: Sendable {
    let node: Node
    let source: any OpenSource

    init(node: Node, source: any OpenSource) {
        self.node = node
        self.source = source
    }

    public var id: NodeID { node.id }

    /// The bytes of all of it as they are, checked, in a file of the cache; nil while there is none.
    public var wholePlainFile: OpenFile? { source.wholePlainFile }

    /// Nothing can be written through this opening, so there is nothing to do when a descriptor is closed.
    public var needsNoFlush: Bool { !source.isForWriting }

    /// Pages of earlier openings may stay in the kernel's cache.
    public var keepsPages: Bool { source.keepsPages }

    /// The size in `stat` is not the truth by the time it is read.
    public var bypassesPages: Bool { source.bypassesPages }
}

/// What one opening reads from and writes to. A conformance for each kind of file: `ItemSource`, `DraftSource`,
/// `ProducedSource`. What is not written in one is as below: nothing to be written, nothing to be done.
protocol OpenSource: Sendable {
    var wholePlainFile: OpenFile? { get }
    var keepsPages: Bool { get }
    var bypassesPages: Bool { get }
    var isForWriting: Bool { get }
    /// Whether somebody may be in the middle of writing.
    var isUnfinished: Bool { get }
    /// The draft that is open.
    var draft: (any DraftFile)? { get }
    /// Which of its openings this is.
    var draftOpening: DraftOpening? { get }

    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) -> ReadAnswer
    func readWasAnswered()
    func write(
        _ bytes: UnsafeRawBufferPointer, at offset: UInt64, by thread: pid_t
    ) -> Result<Int, FileSystemError>
    func flush(by thread: pid_t)
    func synchronise() -> Answer<Void>
    /// Once, at the end.
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
