import Base
import ChatCore
import Cryptography
import Glibc
import Posix
import XFTP

/// The tasks behind the actions of the machine. Blocking steps run on the thread pool.
extension Hydrator {
    /// Finds out where the bytes of a file are.
    func prepare(_ file: FileID, _ generation: UInt64) async {
        guard let state = state(of: file, generation) else { return }
        do {
            if state.file.status.isReadable {
                try await prepareStored(state.file, generation)
            } else if let problem = state.file.status.problem, problem.isFinal {
                transact { $0.preparationFailed(file, generation, problem, now: $1) }
            } else {
                try await prepareRemote(file, state.file.status, generation)
            }
        } catch {
            let problem = describe(error, missing: state.file.size)
            transact { $0.preparationFailed(file, generation, problem, now: $1) }
        }
    }

    private func prepareStored(_ file: ChatFile, _ generation: UInt64) async throws {
        var source = file.source
        if source == nil { source = try await core.location(of: file.id) }
        guard let source else {
            transact { $0.preparationFailed(file.id, generation, .noCopy, now: $1) }
            return
        }
        let whole = try await onPool { try WholeContent.open(source, size: file.size) }
        _ = install(.whole(whole), for: file.id, generation) { machine, now in
            machine.prepared(file.id, generation, .whole, now: now)
        }
    }

    private func prepareRemote(
        _ file: FileID, _ status: FileStatus, _ generation: UInt64
    ) async throws {
        guard let claim = try await claim(file) else {
            // Accepting now would make the core fetch the whole, once it can, instead of the parts read.
            if status == .rcvInvitation(described: false) {
                transact { $0.prepared(file, generation, .awaitingDescription, now: $1) }
            } else {
                try await receiveByCore(file)
                transact { $0.prepared(file, generation, .awaitingCore, now: $1) }
            }
            return
        }
        do {
            let source = try await makeSource(claim)
            guard let layout = ChunkLayout(source.chunks) else {
                throw HydrationError(.damaged, "The file description names no chunks.")
            }
            let stream = try await onPool(cache.makeFile)
            let content = Content.chunks(stream, source, isReceivedByCore: claim.isReceivedByCore)
            let isPresent = install(content, for: file, generation) { machine, now in
                machine.prepared(file, generation, .chunks(layout), now: now)
            }
            if !isPresent { await core.abandonClaim(file, problem: nil) }
        } catch {
            let problem = FileProblem(error)
            await core.abandonClaim(file, problem: problem.isFinal ? problem : nil)
            throw error
        }
    }

    /// The file's description, or nil when there is none for us: not yet, or this core gives none.
    private func claim(_ file: FileID) async throws(ChatError) -> ClaimedFile? {
        do throws(ChatError) {
            return try await core.claimFile(file, approvedRelays: false)
        } catch {
            if error.code != .alreadyReceiving { throw error }
            return nil
        }
    }

    private func receiveByCore(_ file: FileID) async throws(ChatError) {
        do throws(ChatError) {
            try await core.receiveFile(file, approvedRelays: false)
        } catch {
            if error.code != .alreadyReceiving { throw error }
        }
    }

    /// Fetches one chunk into the cache. The first one also says where the content begins.
    func fetch(_ file: FileID, _ generation: UInt64, _ chunk: Int) async {
        guard let state = state(of: file, generation),
            case .chunks(let stream, let source, _) = state.content,
            let layout = ChunkLayout(source.chunks)
        else {
            transact { machine, now in
                machine.landed(file, chunk)
                return machine.schedule(now: now)
            }
            return
        }
        let contentOffset = Lock<UInt64?>(nil)
        do {
            try await source.fetch(
                chunk,
                progress: { [weak self] in
                    self?.transact { $0.progressed(file, chunk: chunk, now: $1) }
                },
                receive: { bytes in
                    guard bytes.count == Int(layout.size(of: chunk)) else {
                        throw HydrationError(
                            .damaged, "A chunk has another length than the description says.")
                    }
                    if chunk == 0 {
                        let offset = try Self.contentOffset(bytes, layout, expected: state.file.size)
                        contentOffset.withLock { $0 = offset }
                    }
                    try stream.store(bytes, at: layout.range(of: chunk).lowerBound)
                })
            let offset = contentOffset.withLock { $0 }
            transact { $0.arrived(file, generation, chunk: chunk, contentOffset: offset, now: $1) }
        } catch {
            let problem = describe(error, missing: layout.size(of: chunk))
            transact { $0.fetchFailed(file, generation, chunk: chunk, problem, now: $1) }
        }
    }

    private static func contentOffset(
        _ bytes: UnsafeRawBufferPointer, _ layout: ChunkLayout, expected: UInt64
    ) throws -> UInt64 {
        let front = Array(bytes.prefix(FileHeader.longest))
        guard let header = FileHeader(stream: front, streamSize: layout.streamSize) else {
            throw HydrationError(.damaged, "The file's header makes no sense; nothing of it is shown.")
        }
        guard header.contentSize == expected else {
            throw HydrationError(.damaged, FileProblem.wrongLength.sentence)
        }
        return header.contentOffset
    }

    /// Checks the whole, keeps it as a CryptoFile, hands it to the core and serves from there.
    func complete(_ file: FileID, _ generation: UInt64) async {
        guard let state = state(of: file, generation),
            case .chunks(let stream, let source, let isReceivedByCore) = state.content
        else { return }
        if isReceivedByCore {
            await check(file, generation, stream, source, state.file.size)
            return
        }
        let path = core.stagingFolder + "/received-" + Hexadecimal.encode(SystemRandomSource().bytes(16))
        do {
            let size = state.file.size
            let arguments = try await onPool {
                try Completion(stream: stream, source: source, contentSize: size).write(to: path)
            }
            let location = try await core.completeClaim(
                file, staged: FileSourceLocation(path: path, arguments: arguments))
            let whole = try await onPool { try WholeContent.open(location, size: size) }
            _ = install(.whole(whole), for: file, generation) { machine, _ in
                machine.completed(file, generation)
            }
        } catch {
            unlink(path)
            let problem = describe(error, missing: state.file.size)
            transact { machine, _ in machine.completionFailed(file, generation, problem) }
        }
    }

    /// The whole as a whole, when the core itself makes the durable copy.
    private func check(
        _ file: FileID, _ generation: UInt64, _ stream: CachedStream, _ source: any ChunkSource,
        _ size: UInt64
    ) async {
        do {
            try await onPool {
                try Completion(stream: stream, source: source, contentSize: size).check()
            }
            transact { machine, _ in machine.checked(file, generation) }
        } catch {
            let problem = describe(error, missing: 0)
            transact { machine, _ in machine.completionFailed(file, generation, problem) }
        }
    }

    /// The problem behind an error; a full disk with how much was missing.
    private func describe(_ error: any Error, missing: UInt64) -> FileProblem {
        let problem = FileProblem(error)
        guard problem.kind == .noSpace else { return problem }
        let free = cache.freeBytes() ?? 0
        let wanted = ByteCount.rounded(missing > free ? missing - free : missing)
        return FileProblem(.noSpace, "The disk is full: \(wanted) more are needed to hold this file.")
    }

    private func onPool<Result: Sendable>(
        _ body: @escaping @Sendable () throws -> Result
    ) async throws -> Result {
        try await ThreadPool.shared.run { () throws(any Error) in try body() }
    }
}
