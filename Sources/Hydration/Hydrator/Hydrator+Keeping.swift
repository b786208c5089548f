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

    /// The core's copy, ready to be read; in a cache that is not sealed a plain one, if there is room.
    func openWhole(_ source: FileSourceLocation, of file: FileID, size: UInt64) throws -> WholeContent {
        guard settings.cacheMode == .plain, let arguments = source.arguments, makeRoom(for: size, of: file)
        else {
            return try WholeContent.open(source, size: size, verified: verified)
        }
        let stored = try OpenFile(source.path, flags: O_RDONLY)
        let reader = try CryptoFileReader(file: stored, arguments: arguments)
        guard reader.size == size else { throw HydrationError(.damaged, FileProblem.wrongLength.sentence) }
        do {
            return .copy(try PlainCopy(of: reader, in: try cache.makeFile(), usage: cache.usage))
        } catch  where FileProblem(error).kind == .noSpace {
            return try WholeContent.open(source, size: size, verified: verified)
        }
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
            case .failed(let error):
                let problem = describe(error, missing: size)
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
            guard let arguments = try await onPool({ try download.pass.finish(at: path) }) else {
                // The core makes the durable copy itself.
                transact { machine, _ in machine.checked(file, generation) }
                return
            }
            let location = try await core.completeClaim(
                file, staged: FileSourceLocation(path: path, arguments: arguments))
            let whole = try await onPool { try self.openKept(location, download, file, size: size) }
            var kept = state.file
            kept.status = .rcvComplete
            kept.source = location
            _ = install(.whole(whole), for: file, generation) { [kept] machine, _ in
                machine.completed(file, generation, kept, cached: whole.cached)
            }
        } catch {
            unlink(path)
            let problem = describe(error, missing: size)
            transact { $0.completionFailed(file, generation, problem, now: $1) }
        }
    }

    /// What has just been written needs no second look. A cache that is not sealed goes on serving.
    private func openKept(
        _ location: FileSourceLocation, _ download: Download, _ file: FileID, size: UInt64
    ) throws -> WholeContent {
        if settings.cacheMode == .plain, let offset = contentOffset(of: file),
            (0..<download.stream.layout.count).allSatisfy(download.stream.keeps)
        {
            if let file = try download.stream.contentFile(at: offset, size: size) {
                return .copy(PlainCopy(adopting: file, size: size, usage: cache.usage))
            }
            return .stream(download.stream, contentOffset: offset)
        }
        verified.add(FileStamp(try OpenFile(location.path, flags: O_RDONLY).status()))
        return try WholeContent.open(location, size: size, verified: verified)
    }
}
