import Base
import Glibc
import Posix

/// The bytes of an item that was not local when opened. The first read tells the program's purpose (`FirstRead`); the
/// file counts as opened once a read wants the bytes.
final class UndecidedSource: OpenSource {
    private let source: ItemSource
    private let firstRead: Lock<FirstRead>
    private let begin: @Sendable () -> Void

    private static let refusal = FileSystemError(EACCES, "This program only finds out the type.")

    /// - Parameters:
    ///   - isOpen: True if another handle is open. Its pages are kept: the kernel would wait for those that wait for a
    ///     relay.
    ///   - begin: Called once, before the first read that may fetch. Must not wait.
    init(
        _ source: ItemSource, _ firstRead: FirstRead, isOpen: Bool, begin: @escaping @Sendable () -> Void
    ) {
        self.source = source
        keepsPages = source.keepsPages && (isOpen || !firstRead.dependsOnLength)
        self.firstRead = Lock(firstRead)
        self.begin = begin
    }

    var wholePlainFile: OpenFile? { source.wholePlainFile }
    let keepsPages: Bool

    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) -> ReadAnswer {
        switch firstRead.withLock({ $0.read(at: offset, count: buffer.count) }) {
        case .serve: break
        case .begin: begin()
        case .onlyWhatIsHere: return source.peek(at: offset, into: buffer, else: Self.refusal)
        }
        return source.read(at: offset, into: buffer)
    }

    func readWasAnswered() { source.readWasAnswered() }
    func close() { source.close() }
}
