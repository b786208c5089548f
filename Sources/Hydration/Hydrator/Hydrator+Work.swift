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
            let problem = describe(error, of: file, missing: state.file.size)
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
        do {
            let whole = try await openWhole(source, of: file.id, size: file.size) { [weak self] in
                self?.transact { $0.verifying(file.id, generation, now: $1) }
            }
            _ = install(.whole(whole), for: file.id, generation) { machine, now in
                machine.prepared(file.id, generation, .whole(cached: whole.cached), now: now)
            }
        } catch  where Self.isDamagedCopy(error) {
            try await giveUp(source, of: file.id, generation)
        }
    }

    /// The durable copy is not what was stored, or not there: the file is fetched once more where it can be.
    private func giveUp(
        _ source: FileSourceLocation, of file: FileID, _ generation: UInt64
    ) async throws {
        log.warning("the stored copy of file \(file.rawValue) is damaged")
        switch try await core.giveUpCopy(of: file, at: source) {
        case .offered(let item):
            transact { machine, _ in machine.offeredAgain(file, generation, item) }
        case .lost(let problem):
            transact { $0.preparationFailed(file, generation, problem, now: $1) }
        }
    }

    private static func isDamagedCopy(_ error: any Error) -> Bool {
        switch error {
        case let error as CryptographyError: error.isDamage
        case let error as HydrationError: error.code == .damaged
        case let error as SystemError: error.code == ENOENT || error.code == EIO
        default: false
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
        let remains = claim.remains
        do {
            let source = try await makeSource(claim)
            guard let layout = ChunkLayout(source.chunks) else {
                throw HydrationError(.damaged, "The file description names no chunks.")
            }
            let known = state(of: file, generation)?.file
            let size = known?.size ?? 0
            // Official writers use no more of the header than we do.
            let header = FileHeader.encode(name: known?.name ?? "", contentSize: size)
            let stream = try await onPool {
                try self.cache.makeStream(layout, contentOffset: UInt64(header.count))
            }
            let byCore = claim.isReceivedByCore
            let download = Download(
                source: source, stream: stream,
                pass: makePass(file, generation, source, stream, size: size, writes: !byCore),
                isReceivedByCore: byCore, remains: remains)
            let isPresent = install(.chunks(download), for: file, generation) { machine, now in
                machine.prepared(
                    file, generation, .chunks(layout, isReceivedByCore: byCore), now: now)
            }
            if !isPresent { await core.abandonClaim(file, problem: nil) }
        } catch {
            let problem = describe(error, of: file, missing: 0, remains: remains)
            await core.abandonClaim(file, problem: problem.isFinal ? problem : nil)
            transact { $0.preparationFailed(file, generation, problem, now: $1) }
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

    /// Fetches one chunk. Readers have it from its memory as soon as it was compared with its digest; then it
    /// goes through the check of the whole or, when that is not so far yet, into the cache. The first one
    /// also says where the content begins.
    func fetch(_ file: FileID, _ generation: UInt64, _ chunk: Int) async {
        var problem: FileProblem?
        if let state = state(of: file, generation), case .chunks(let download) = state.content {
            problem = await fetch(state.file, generation, chunk, download)
        }
        transact { [problem] machine, now in
            if let problem { return machine.fetchFailed(file, generation, chunk: chunk, problem, now: now) }
            machine.landed(file, generation, chunk)
            return machine.schedule(now: now)
        }
    }

    private func fetch(
        _ file: ChatFile, _ generation: UInt64, _ chunk: Int, _ download: Download
    ) async -> FileProblem? {
        let layout = download.stream.layout
        do {
            let fetched = try await download.source.fetch(chunk) { [weak self] in
                self?.transact { $0.progressed(file.id, generation, chunk: chunk, now: $1) }
            }
            guard fetched.count == Int(layout.size(of: chunk)) else {
                throw HydrationError(.damaged, "A chunk has another length than the description says.")
            }
            let offset = chunk == 0 ? try Self.contentOffset(fetched, layout, expected: file.size) : nil
            download.stream.hold(fetched, chunk)
            transact { $0.arrived(file.id, generation, chunk: chunk, contentOffset: offset, now: $1) }
            try await keep(fetched, chunk, of: file.id, download)
            return nil
        } catch {
            return describe(error, of: file.id, missing: layout.size(of: chunk), remains: download.remains)
        }
    }

    private func keep(
        _ fetched: any FetchedChunk, _ chunk: Int, of file: FileID, _ download: Download
    ) async throws {
        let pass = download.pass
        if pass.servesReaders, await pass.take(chunk, fetched) {
            // It takes room on the disk too: what was used longest ago goes for it.
            return await ThreadPool.shared.run { _ = self.makeRoom(for: 0, of: file) }
        }
        do {
            try await onPool { try self.store(fetched, chunk, of: file, download) }
        } catch {
            download.stream.forget(chunk)
            throw error
        }
        if pass.servesReaders { pass.proceed() } else { _ = await pass.take(chunk, fetched) }
    }

    private static func contentOffset(
        _ fetched: any FetchedChunk, _ layout: ChunkLayout, expected: UInt64
    ) throws -> UInt64 {
        let front = [UInt8](unsafeUninitializedCapacity: FileHeader.longest) { buffer, count in
            count = min(buffer.count, fetched.count)
            let target = UnsafeMutableRawBufferPointer(UnsafeMutableBufferPointer(rebasing: buffer[..<count]))
            fetched.decrypt(from: 0, into: target)
        }
        guard let header = FileHeader(stream: front, streamSize: layout.streamSize) else {
            throw HydrationError(.damaged, "The file's header makes no sense; nothing of it is shown.")
        }
        guard header.contentSize == expected else {
            throw HydrationError(.damaged, FileProblem.wrongLength.sentence)
        }
        return header.contentOffset
    }

    /// The problem behind an error, which is logged; a full disk with how much was missing, and one that is for good
    /// with what is left of a damaged copy.
    func describe(
        _ error: any Error, of file: FileID, missing: UInt64, remains: String? = nil
    ) -> FileProblem {
        let problem = FileProblem(error)
        logFailure(error, of: file)
        if problem.isFinal { return problem.mentioning(remains) }
        guard problem.kind == .noSpace else { return problem }
        let free = cache.freeBytes() ?? 0
        let wanted = ByteCount.rounded(missing > free ? missing - free : missing)
        return FileProblem(.noSpace, "The disk is full: \(wanted) more are needed to hold this file.")
    }

    /// Once, however often the same is tried again. What was given up, because nobody wants it any more or at the
    /// end, did not fail.
    private func logFailure(_ error: any Error, of file: FileID) {
        if error is CancellationError || (error as? XFTPError)?.code == .cancelled || Task.isCancelled {
            return
        }
        let words = sentenceWithCauses(of: error)
        guard
            case .say(let keptBack) = failures.withLock({ [now] in
                $0.verdict(on: "\(file) \(words)", now: now)
            })
        else { return }
        let more = keptBack > 0 ? " (and \(keptBack) more before)" : ""
        log.warning("file \(file.rawValue): \(words)\(more)")
    }

    func onPool<Result: Sendable>(
        _ body: @escaping @Sendable () throws -> Result
    ) async throws -> Result {
        try await ThreadPool.shared.run { () throws(any Error) in try body() }
    }
}
