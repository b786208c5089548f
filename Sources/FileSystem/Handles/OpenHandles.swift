import Base
import ChatCore
import Glibc
import Namespace
import Outbox
import Posix

extension FileSystem {
    /// `flags` are those of open(2), without O_CREAT and O_EXCL.
    public func open(_ id: NodeID, flags: Int32) -> Answer<FileHandle> {
        // A draft also when its name is gone: whoever found that a moment ago opens what it named then.
        guard let node = names.node(id) ?? references.node(id) else { return .refused(.gone) }
        let writes = flags & O_ACCMODE != O_RDONLY || flags & O_TRUNC != 0
        switch node.content {
        case .root, .control, .recovered, .chat:
            return .refused(.isFolder)
        case .status, .transfers:
            guard !writes else { return .refused(.notPermitted) }
            // What is asked for is all there is: the files of some chats may be on their way into the tree. When
            // that does not end, what there is says so.
            return .later { [self] in
                await reading.finish(within: settings.readDeadline)
                return .success(handle(on: node, .produced(produce(node))))
            }
        case .item(let item):
            guard !writes else { return .refused(.notPermitted) }
            if item.direction == .received { core.noteOpened(item.id, in: item.chat) }
            return .done(handle(on: node, content(of: item)))
        case .draft(let draft):
            guard let file = self.draft(draft, at: id) else { return .refused(.gone) }
            if writes && node.folder == .recovered { return .refused(.notPermitted) }
            return blocking {
                let opening: DraftOpening
                do {
                    opening = try file.opened(for: writes ? .writing : .reading)
                } catch {
                    // Sent since the look above: its bytes are the item's now.
                    guard !writes, let node = self.names.node(id), case .item(let item) = node.content else {
                        throw error
                    }
                    return self.handle(on: node, self.content(of: item))
                }
                do {
                    if flags & O_TRUNC != 0 { try file.truncate(to: 0) }
                } catch {
                    file.closed(opening)
                    throw error
                }
                return self.handle(on: node, .draft(file, opening))
            }
        }
    }

    private func content(of item: ChatItem) -> FileHandle.Source {
        .content(contents.content(of: item), size: item.file?.size ?? 0)
    }

    /// The last reference of the kernel is gone.
    public func release(_ handle: FileHandle) {
        let wasOpen = openHandles.withLock { open in
            let known = open[handle.node.id]?.removeValue(forKey: ObjectIdentifier(handle)) != nil
            if open[handle.node.id]?.isEmpty == true { open[handle.node.id] = nil }
            return known
        }
        guard wasOpen else { return }
        switch handle.source {
        case .content(let content, _): content.close()
        case .draft(let draft, let opening): draft.closed(opening)
        case .produced: break
        }
    }

    /// After the mount has gone: what is left here was mostly closed, but the kernel drops releases that nobody
    /// had read by then. What was not closed since its last write was not (`umount -f -l`): such a draft is
    /// incomplete, and recovered by the next mount.
    public func releaseAll() {
        let left = openHandles.withLock { $0.values.flatMap { Array($0.values) } }
        for handle in left where !handle.isUnfinished { release(handle) }
    }

    /// Whether anybody is writing at present.
    public var hasWriters: Bool {
        openHandles.withLock { open in
            open.values.contains { $0.values.contains(where: \.isForWriting) }
        }
    }

    func handle(on node: Node, _ source: FileHandle.Source) -> FileHandle {
        let handle = FileHandle(node: node, source: source)
        openHandles.withLock { $0[node.id, default: [:]][ObjectIdentifier(handle)] = handle }
        return handle
    }

    // MARK: - Bytes

    /// Reads up to `buffer.count` bytes at `offset`; fewer only at the end of the file.
    public func read(
        _ handle: FileHandle, at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer
    ) -> ReadAnswer {
        switch handle.source {
        case .produced(let bytes):
            guard offset < UInt64(bytes.count) else { return .filled(0) }
            let part = bytes[Int(offset)...].prefix(buffer.count)
            buffer.copyBytes(from: part)
            return .filled(part.count)
        case .draft(let draft, _):
            do {
                return .filled(try draft.read(into: buffer, at: offset))
            } catch {
                return .failed(FileSystemError(error))
            }
        case .content(let content, let size):
            guard offset < size, !buffer.isEmpty else { return .filled(0) }
            let range = offset..<min(size, offset + UInt64(buffer.count))
            let part = UnsafeMutableRawBufferPointer(rebasing: buffer[..<range.count])
            switch content.read(range, into: part) {
            case .filled(let count): return .filled(count)
            case .ready(let ready): return .ready(ready)
            case .failed(let problem): return .failed(FileSystemError(problem))
            case .pending, .cancelled: return waitingRead(content, range)
            }
        }
    }

    /// After a read was answered on this thread: what comes next may be made.
    public func readWasAnswered(_ handle: FileHandle) {
        if case .content(let content, _) = handle.source { content.prepareNext() }
    }

    private func waitingRead(_ content: any OpenContent, _ range: Range<UInt64>) -> ReadAnswer {
        .later { [settings] buffer in
            let part = ReadBuffer(UnsafeMutableRawBufferPointer(rebasing: buffer.bytes[..<range.count]))
            switch await content.read(range, into: part, timeout: settings.readDeadline) {
            case .filled(let count): return .success(count)
            case .failed(let problem): return .failure(FileSystemError(problem))
            case .cancelled, .pending, .ready: return .failure(FileSystemError(EINTR))
            }
        }
    }

    /// Writes to a draft. On the calling thread: the bytes are the kernel's and the disk is local.
    /// - Parameter thread: who writes, 0 when the kernel does not say.
    public func write(
        _ handle: FileHandle, _ bytes: UnsafeRawBufferPointer, at offset: UInt64, by thread: pid_t
    ) -> Result<Int, FileSystemError> {
        guard case .draft(let draft, let opening) = handle.source, handle.isForWriting else {
            return .failure(.badHandle)
        }
        do {
            try draft.write(bytes, at: offset, through: opening, by: thread)
            return .success(bytes.count)
        } catch {
            return .failure(FileSystemError(error))
        }
    }

    /// A descriptor of this opening is being closed by `thread`. As `write`, on the calling thread.
    public func flush(_ handle: FileHandle, by thread: pid_t) {
        if case .draft(let draft, let opening) = handle.source { draft.flushed(opening, by: thread) }
    }

    /// fsync(2): what was written to a draft survives a power cut.
    public func synchronise(_ handle: FileHandle) -> Answer<Void> {
        guard case .draft(let draft, _) = handle.source, handle.isForWriting else { return .done(()) }
        return blocking { try draft.synchronise() }
    }

    /// Work that may wait for the disk, on a thread that may.
    func blocking<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) -> Answer<Value> {
        .later {
            do {
                return .success(try await ThreadPool.shared.run(body))
            } catch {
                return .failure(FileSystemError(error))
            }
        }
    }
}
