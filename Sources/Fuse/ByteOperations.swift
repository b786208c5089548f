import Base
import CFuse3
import FileSystem
import Glibc
import Namespace

extension Operations {
    static func addBytes(to table: inout fuse_lowlevel_ops) {
        table.open = { pointer, node, info in
            guard let pointer, let info else { return }
            let request = Request(pointer, RequestSubject("open", node))
            let session = request.session
            // By value: libfuse's own is gone when the answer comes later.
            let opened = Opening(info.pointee)
            let answer = session.fileSystem.open(NodeID(UInt64(node)), flags: info.pointee.flags)
            request.answer(answer) { request, handle in
                var info = opened.info
                handle.open(&info)
                let arrived =
                    if let backing = session.passthrough.opened(handle) {
                        request.opened(info, backing: backing)
                    } else {
                        request.opened(info)
                    }
                if !arrived { Operations.release(info, session) }
            }
        }
        table.create = { pointer, folder, name, _, info in
            guard let pointer, let name, let info else { return }
            let request = Request(pointer, RequestSubject("create", folder))
            let session = request.session
            let opened = Opening(info.pointee)
            let answer = session.fileSystem.create(
                EntryName(name), in: NodeID(UInt64(folder)), flags: info.pointee.flags)
            request.answer(answer) { request, made in
                var info = opened.info
                made.1.open(&info)
                // Never through a backing file: it is being written.
                _ = session.passthrough.opened(made.1)
                if !request.created(made.0.entry(of: session.owner), info) {
                    Operations.release(info, session)
                    session.fileSystem.forget(made.0.id, 1)
                }
            }
        }
        table.read = { pointer, node, size, offset, info in
            guard let pointer else { return }
            Operations.read(Request(pointer, RequestSubject("read", node)), size, offset, FileHandle.of(info))
        }
        table.write = { pointer, node, bytes, size, offset, info in
            guard let pointer else { return }
            let request = Request(pointer, RequestSubject("write", node))
            guard let handle = FileHandle.of(info), offset >= 0 else { return request.fail(EBADF) }
            let buffer = UnsafeRawBufferPointer(start: bytes, count: size)
            switch request.session.fileSystem.write(
                handle, buffer, at: UInt64(offset), by: request.thread)
            {
            case .success(let count): request.written(count)
            case .failure(let error): request.fail(error)
            }
        }
        // Comes with every close(2) of every copy of a descriptor, before the first write too. Who closes waits for
        // the answer, so what is noted here is there when close(2) returns.
        table.flush = { pointer, node, info in
            guard let pointer else { return }
            let request = Request(pointer, RequestSubject("flush", node))
            if let handle = FileHandle.of(info) {
                request.session.fileSystem.flush(handle, by: request.thread)
            }
            request.succeed()
        }
        table.release = { pointer, node, info in
            guard let pointer else { return }
            let request = Request(pointer, RequestSubject("release", node))
            if let info { Operations.release(info.pointee, request.session) }
            request.succeed()
        }
        table.fsync = { pointer, node, _, info in
            guard let pointer else { return }
            let request = Request(pointer, RequestSubject("fsync", node))
            guard let handle = FileHandle.of(info) else { return request.fail(EBADF) }
            let answer = request.session.fileSystem.synchronise(handle)
            request.answer(answer) { request, _ in request.succeed() }
        }
    }

    /// What is here is answered on this thread; what is not, from a task.
    private static func read(
        _ request: consuming Request, _ size: Int, _ offset: off_t, _ handle: FileHandle?
    ) {
        guard let handle, offset >= 0 else { return request.fail(EBADF) }
        let session = request.session
        let pointer = request.withPointer { $0 }
        let answer = session.buffers.with(size) { buffer -> ReadAnswer in
            let answer = session.fileSystem.read(handle, at: UInt64(offset), into: buffer)
            let bytes: UnsafeRawBufferPointer
            switch answer {
            case .filled(let count): bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
            case .ready(let ready): bytes = ready.bytes
            case .failed, .later: return answer
            }
            fuse_reply_buf(pointer, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count)
            return answer
        }
        switch answer {
        case .filled, .ready:
            request.wasAnswered()
            session.fileSystem.readWasAnswered(handle)
        case .failed(let error): request.fail(error)
        case .later(let work):
            request.deferred().run {
                let buffer = session.buffers.take(size)
                let result = await work(buffer)
                return { request in
                    switch result {
                    case .success(let count):
                        request.bytes(UnsafeRawBufferPointer(rebasing: buffer.bytes[..<count]))
                    case .failure(let error): request.fail(error)
                    }
                    session.buffers.give(buffer)
                }
            }
        }
    }

    private static func release(_ info: fuse_file_info, _ session: FuseSession) {
        withUnsafePointer(to: info) { info in
            guard let handle = FileHandle.taken(from: info) else { return }
            session.fileSystem.release(handle)
            session.passthrough.ended(handle)
        }
    }
}

/// The kernel's description of an opening, kept for an answer that comes later.
private struct Opening: @unchecked Sendable {
    // Safe: a plain C struct of numbers, copied.
    let info: fuse_file_info
    init(_ info: fuse_file_info) { self.info = info }
}
