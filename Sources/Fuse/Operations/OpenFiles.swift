import Base
import CFuse3
import FileSystem
import Glibc
import Namespace
import Posix

extension Operations {
    static func open(_ request: consuming Request, _ node: NodeID, _ opening: Opening) {
        let context = request.context
        request.answer(context.fileSystem.open(node, flags: opening.flags, by: request.thread)) {
            request, handle in
            let info = opening.info(of: handle)
            let arrived =
                if let backing = context.passthrough.opened(handle) {
                    request.opened(info, backing: backing)
                } else {
                    request.opened(info)
                }
            if !arrived { release(FileHandle.taken(from: info), context) }
        }
    }

    static func create(
        _ request: consuming Request, _ name: EntryName, in folder: NodeID, _ opening: Opening
    ) {
        let context = request.context
        let answer = context.fileSystem.create(
            name, in: folder, flags: opening.flags, by: request.thread)
        request.answer(answer) { request, made in
            let (attributes, handle) = made
            let info = opening.info(of: handle)
            // A draft never has a backing file.
            _ = context.passthrough.opened(handle)
            if !request.created(attributes.entry(of: context.owner), info) {
                release(FileHandle.taken(from: info), context)
                context.fileSystem.forget(attributes.id, 1)
            }
        }
    }

    /// Answers local bytes on this thread, others from a task.
    static func read(_ request: consuming Request, _ handle: FileHandle?, _ size: Int, at offset: off_t) {
        guard let handle, offset >= 0 else { return request.fail(EBADF) }
        let context = request.context
        let buffer = context.buffers.take(size)
        let part = UnsafeMutableRawBufferPointer(rebasing: buffer.bytes[..<size])
        let isHere: Bool
        switch context.fileSystem.read(handle, at: UInt64(offset), into: part) {
        case .filled(let count):
            isHere = request.bytes(UnsafeRawBufferPointer(rebasing: part[..<count]))
        case .ready(let ready):
            isHere = request.bytes(ready.bytes)
        case .failed(let error):
            isHere = false
            context.fileSystem.readFailed(handle, error, by: request.thread)
            request.fail(error)
        case .later(let work):
            isHere = false
            readLater(request, handle, size, work)
        }
        context.buffers.give(buffer)
        if isHere { context.fileSystem.readWasAnswered(handle) }
    }

    private static func readLater(
        _ request: consuming Request, _ handle: FileHandle, _ size: Int,
        _ work: @escaping @Sendable (ReadBuffer) async -> Result<Int, FileSystemError>
    ) {
        let (buffers, files, thread) = (request.context.buffers, request.context.fileSystem, request.thread)
        DeferredRequest(request).run {
            let buffer = buffers.take(size)
            let result = await work(buffer)
            if case .failure(let error) = result {
                await ThreadPool.shared.run { files.readFailed(handle, error, by: thread) }
            }
            return { request in
                switch result {
                case .success(let count):
                    request.bytes(UnsafeRawBufferPointer(rebasing: buffer.bytes[..<count]))
                case .failure(let error): request.fail(error)
                }
                buffers.give(buffer)
            }
        }
    }

    static func write(
        _ request: consuming Request, _ handle: FileHandle?, _ bytes: UnsafeRawBufferPointer, at offset: off_t
    ) {
        guard let handle, offset >= 0 else { return request.fail(EBADF) }
        let thread = request.thread
        switch request.context.fileSystem.write(handle, bytes, at: UInt64(offset), by: thread) {
        case .success(let count): request.written(count)
        case .failure(let error): request.fail(error)
        }
    }

    /// Sent for each close(2) of each duplicated descriptor, even before the first write. close(2) waits for the reply,
    /// so the flush is recorded before close(2) returns.
    static func flush(_ request: consuming Request, _ handle: FileHandle?) {
        if let handle { request.context.fileSystem.flush(handle, by: request.thread) }
        request.succeed()
    }

    static func fsync(_ request: consuming Request, _ handle: FileHandle?) {
        guard let handle else { return request.fail(EBADF) }
        request.answer(request.context.fileSystem.synchronise(handle))
    }

    static func release(_ request: consuming Request, _ handle: FileHandle?) {
        release(handle, request.context)
        request.succeed()
    }

    private static func release(_ handle: FileHandle?, _ context: RequestContext) {
        guard let handle else { return }
        context.fileSystem.release(handle)
        context.passthrough.ended(handle)
    }
}
