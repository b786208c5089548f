import Base
import ChatCore
import Glibc
import Hydration
import Outbox
import Posix

/// The bytes of an item.
struct ItemSource: OpenSource {
    private let content: any OpenContent
    private let size: UInt64
    private let deadline: Duration

    /// - Parameter deadline: Maximum wait without progress.
    init(_ item: ChatItem, in contents: any ContentStore, deadline: Duration) {
        content = contents.content(of: item)
        size = item.file?.size ?? 0
        self.deadline = deadline
    }

    var wholePlainFile: OpenFile? { content.wholePlainFile }
    var keepsPages: Bool { !content.wasOutdated }

    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) -> ReadAnswer {
        answer(to: offset, of: size, into: buffer, content.read, orLater: waitingRead)
    }

    /// Reads local bytes. Answers `refusal` for all others; fetches nothing.
    func peek(
        at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer, else refusal: FileSystemError
    ) -> ReadAnswer {
        answer(to: offset, of: size, into: buffer, content.peek, orLater: { _ in .failed(refusal) })
    }

    private func waitingRead(_ range: Range<UInt64>) -> ReadAnswer {
        .later { [content, deadline] buffer in
            let part = ReadBuffer(UnsafeMutableRawBufferPointer(rebasing: buffer.bytes[..<range.count]))
            switch await content.read(range, into: part, timeout: deadline) {
            case .filled(let count): return .success(count)
            case .failed(let problem): return .failure(FileSystemError(problem))
            case .cancelled, .pending, .ready: return .failure(FileSystemError(EINTR))
            }
        }
    }

    func readWasAnswered() { content.prepareNext() }
    func close() { content.close() }
}

/// The bytes of an item for a program that may fetch the first chunk only. Reads without limit once the item is
/// complete.
struct BeginningSource: OpenSource {
    private let content: any OpenContent
    private let size: UInt64
    private let deadline: Duration

    /// The error for reads beyond the first chunk.
    private static let beyond = FileSystemError(EACCES, "This program gets the first chunk at most.")

    init(_ item: ChatItem, in contents: any ContentStore, deadline: Duration) {
        content = contents.content(of: item)
        size = item.file?.size ?? 0
        self.deadline = deadline
    }

    var keepsPages: Bool { !content.wasOutdated }

    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) -> ReadAnswer {
        answer(to: offset, of: size, into: buffer, content.peek, orLater: waitingRead)
    }

    private func waitingRead(_ range: Range<UInt64>) -> ReadAnswer {
        .later { [content, deadline] buffer in
            switch await content.fetchBeginning(timeout: deadline) {
            case .failed(let problem): return .failure(FileSystemError(problem))
            case .cancelled: return .failure(FileSystemError(EINTR))
            case .filled, .pending, .ready: break
            }
            let part = ReadBuffer(UnsafeMutableRawBufferPointer(rebasing: buffer.bytes[..<range.count]))
            switch await ThreadPool.shared.run({ content.peek(range, into: part.bytes) }) {
            case .filled(let count): return .success(count)
            case .ready(let ready):
                part.bytes.copyMemory(from: ready.bytes)
                return .success(ready.bytes.count)
            case .failed(let problem): return .failure(FileSystemError(problem))
            case .pending, .cancelled: return .failure(Self.beyond)
            }
        }
    }

    func close() { content.close() }
}

/// Answers a read: at once through `look` if the bytes are local, else through `later`. Clips the range to the file's
/// `size` in bytes.
private func answer(
    to offset: UInt64, of size: UInt64, into buffer: UnsafeMutableRawBufferPointer,
    _ look: (Range<UInt64>, UnsafeMutableRawBufferPointer) -> ReadResult,
    orLater later: (Range<UInt64>) -> ReadAnswer
) -> ReadAnswer {
    guard offset < size, !buffer.isEmpty else { return .filled(0) }
    let range = offset..<min(size, offset + UInt64(buffer.count))
    switch look(range, UnsafeMutableRawBufferPointer(rebasing: buffer[..<range.count])) {
    case .filled(let count): return .filled(count)
    case .ready(let ready): return .ready(ready)
    case .failed(let problem): return .failed(FileSystemError(problem))
    case .pending, .cancelled: return later(range)
    }
}

/// One opening of a draft.
struct DraftSource: OpenSource {
    private let file: any DraftFile
    private let opening: DraftOpening

    init(_ file: any DraftFile, _ opening: DraftOpening) {
        self.file = file
        self.opening = opening
    }

    var draft: (any DraftFile)? { file }
    var draftOpening: DraftOpening? { opening }
    var isForWriting: Bool { opening.access == .writing }
    var isUnfinished: Bool { !file.isFinished(opening) }

    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) -> ReadAnswer {
        do {
            return .filled(try file.read(into: buffer, at: offset))
        } catch {
            return .failed(FileSystemError(error))
        }
    }

    func write(
        _ bytes: UnsafeRawBufferPointer, at offset: UInt64, by thread: pid_t
    ) -> Result<Int, FileSystemError> {
        guard isForWriting else { return .failure(.badHandle) }
        do {
            try file.write(bytes, at: offset, through: opening, by: thread)
            return .success(bytes.count)
        } catch {
            return .failure(FileSystemError(error))
        }
    }

    func flush(by thread: pid_t) { file.flushed(opening, by: thread) }

    func synchronise() -> Answer<Void> {
        guard isForWriting else { return .done(()) }
        return .blocking { [file] in try file.synchronise() }
    }

    func close() { file.closed(opening) }
}

/// A thumbnail, the same in every opening.
struct ThumbnailSource: OpenSource {
    private let bytes: ProducedSource

    init(_ bytes: [UInt8]) { self.bytes = ProducedSource(bytes) }

    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) -> ReadAnswer {
        bytes.read(at: offset, into: buffer)
    }
}

/// A control file generated when it was opened.
struct ProducedSource: OpenSource {
    private let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var keepsPages: Bool { false }
    var bypassesPages: Bool { true }

    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) -> ReadAnswer {
        guard offset < UInt64(bytes.count) else { return .filled(0) }
        let part = bytes[Int(offset)...].prefix(buffer.count)
        buffer.copyBytes(from: part)
        return .filled(part.count)
    }
}
