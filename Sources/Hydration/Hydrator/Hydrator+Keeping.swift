import Base
import ChatCore
import Cryptography
import Glibc
import Posix

/// What is kept: chunks in the cache, and the whole with the core.
extension Hydrator {
    /// Keeps a chunk where there is room: on the disk, if need be at the cost of what was used longest ago,
    /// else in memory. Blocks on the disk.
    func store(_ fetched: any FetchedChunk, _ chunk: Int, of file: FileID, _ download: Download) throws {
        let stream = download.stream
        if cache.usesDisk && makeRoom(for: UInt64(fetched.count), of: file) {
            do {
                return try stream.keepOnDisk(fetched, chunk)
            } catch  where FileProblem(error).kind == .noSpace {
                log.notice("the disk of the cache is full: a chunk is kept in memory")
            }
        }
        forgetChunks(stream.keepInMemory(fetched, chunk))
    }

    /// False when everything that may go has gone and there is still no room.
    func makeRoom(for bytes: UInt64, of file: FileID) -> Bool {
        while !cache.hasRoom(for: bytes) {
            var hasEvicted = false
            transact { machine, _ in
                let actions = machine.evictOldest(sparing: file)
                hasEvicted = actions != nil
                return actions ?? []
            }
            if !hasEvicted { return false }
        }
        return true
    }

    /// Chunks that left the memory for others.
    private func forgetChunks(_ keys: [ChunkMemory.Key]) {
        guard !keys.isEmpty else { return }
        for (file, generation, stream) in streams() {
            let id = stream.id
            let chunks = keys.filter { $0.stream == id && !stream.holds($0.chunk) }.map(\.chunk)
            guard !chunks.isEmpty else { continue }
            transact { machine, _ in
                for chunk in chunks { machine.lost(file, generation, chunk: chunk) }
                return [.changed(file)]
            }
        }
    }

    /// The core's copy, checked and ready to be read; in a cache that is not sealed a plain one, if there is
    /// room.
    /// - Parameter progress: told as the check gets on.
    func openWhole(
        _ source: FileSourceLocation, of file: FileID, size: UInt64, progress: @escaping @Sendable () -> Void
    ) async throws -> WholeContent {
        if settings.cacheMode == .plain, let arguments = source.arguments {
            do {
                let cached = try await onPool {
                    self.makeRoom(for: size, of: file) ? try self.cache.makeFile() : nil
                }
                if let cached {
                    let copy = try await PlainCopy.decrypting(
                        source.path, arguments, size: size, into: cached, usage: cache.usage,
                        progress: progress)
                    return .copy(copy)
                }
            } catch  where FileProblem(error).kind == .noSpace {
                log.notice("the disk of the cache is full: a file is served from where it is stored")
            }
        }
        return try await WholeContent.open(source, size: size, verified: verified, progress: progress)
    }

    // MARK: - The whole

    func makePass(
        _ file: FileID, _ generation: UInt64, _ source: any ChunkSource, _ stream: CachedStream, size: UInt64,
        writes: Bool
    ) -> StoringPass {
        let folder = writes ? core.stagingFolder : nil
        // A cache that is not sealed keeps all chunks: it goes on serving when the whole is complete.
        return StoringPass(
            stream, source: source, contentSize: size, stagingFolder: folder,
            servesReaders: settings.cacheMode != .plain
        ) { [weak self] progress in
            guard let self else { return }
            switch progress {
            case .passed(let count):
                transact { $0.passed(file, generation, upTo: count, now: $1) }
            case .unreadable(let chunk):
                transact { machine, now in
                    machine.lost(file, generation, chunk: chunk)
                    return machine.schedule(now: now)
                }
            case .mended(let chunk):
                transact { $0.mended(file, generation, chunk: chunk, now: $1) }
            case .failed(let error):
                let problem = describe(error, of: file, missing: size)
                transact { $0.completionFailed(file, generation, problem, now: $1) }
            }
        }
    }

    /// Goes on with the check of the whole where it failed.
    func passAgain(_ file: FileID, _ generation: UInt64) {
        guard let state = state(of: file, generation), case .chunks(let download) = state.content else {
            return
        }
        download.pass.resume()
    }

    /// All chunks have gone through the check: hands the CryptoFile to the core and serves from there.
    func complete(_ file: FileID, _ generation: UInt64) async {
        guard let state = state(of: file, generation), case .chunks(let download) = state.content else {
            return
        }
        let path = core.stagingFolder + "/received-" + Hexadecimal.encode(SystemRandomSource().bytes(16))
        let size = state.file.size
        do {
            guard let copy = try await download.pass.finish(at: path) else {
                // The core makes the durable copy itself.
                transact { machine, _ in machine.checked(file, generation) }
                return
            }
            let location = try await core.completeClaim(
                file, staged: FileSourceLocation(path: path, arguments: copy.arguments))
            let whole = try await openKept(location, copy.tags, download, file, size: size)
            var kept = state.file
            kept.status = .rcvComplete
            kept.source = location
            _ = install(.whole(whole), for: file, generation) { [kept] machine, _ in
                machine.completed(file, generation, kept, cached: whole.cached)
            }
        } catch let damage as DamagedChunks {
            fetchAgain(damage.chunks, of: file, generation, download, endsCompletion: true)
        } catch {
            unlink(path)
            let problem = describe(error, of: file, missing: size, remains: download.remains)
            transact { $0.completionFailed(file, generation, problem, now: $1) }
        }
    }

    /// The disk did not keep what was written of these chunks. Where it never does, the file is not stored.
    func fetchAgain(
        _ chunks: [Int], of file: FileID, _ generation: UInt64, _ download: Download,
        endsCompletion: Bool = false
    ) {
        log.warning("the disk has not kept what was written to it: \(chunks.count) chunks are fetched again")
        do throws(HydrationError) {
            try download.pass.lost(chunks)
            for chunk in chunks { download.stream.forget(chunk) }
            transact { $0.damaged(file, generation, chunks: chunks, endsCompletion: endsCompletion, now: $1) }
        } catch {
            let problem = FileProblem(error)
            transact { $0.completionFailed(file, generation, problem, now: $1) }
        }
    }

    /// What has just been written proves itself by the tags of its writer. A cache that is not sealed goes on
    /// serving.
    private func openKept(
        _ location: FileSourceLocation, _ tags: BlockTags, _ download: Download, _ file: FileID, size: UInt64
    ) async throws -> WholeContent {
        if settings.cacheMode == .plain, let offset = contentOffset(of: file),
            (0..<download.stream.layout.count).allSatisfy(download.stream.keeps)
        {
            let plain = try await onPool { try download.stream.contentFile(at: offset, size: size) }
            if let plain { return .copy(PlainCopy(adopting: plain, size: size, usage: cache.usage)) }
            return .stream(download.stream, contentOffset: offset)
        }
        try await onPool {
            let stored = try OpenFile(location.path, flags: O_RDONLY)
            self.verified.add(tags, of: FileStamp(try stored.status()))
        }
        return try await WholeContent.open(location, size: size, verified: verified) {}
    }
}
