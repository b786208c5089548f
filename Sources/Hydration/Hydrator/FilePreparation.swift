import Base
import ChatCore
import Cryptography
import Glibc
import Posix
import XFTP

/// Finds the source of a file's bytes, for one preparation. Blocking steps run on the thread pool.
struct FilePreparation: Sendable {
    private let file: CachedFile
    private let preparation: Preparation
    private let described: ChatFile
    private let context: HydrationContext

    init(of file: CachedFile, _ preparation: Preparation) {
        self.file = file
        self.preparation = preparation
        context = file.context
        described = file.withMachine(\.file)
    }

    func run() async {
        guard file.withMachine({ $0.phase.isPresent(preparation) }) else { return }
        do {
            if described.status.isReadable {
                try await prepareStored()
            } else if let problem = described.status.problem, problem.isFinal {
                // It was logged when it was found.
                fail(problem.logged)
            } else {
                try await prepareRemote()
            }
        } catch {
            fail(context.failures.problem(error, of: file.id, missing: described.size))
        }
    }

    /// Returns false if the preparation is outdated.
    @discardableResult
    private func end(_ result: PreparationResult<Download, WholeContent>) -> Bool {
        var isPresent = false
        file.step { machine, now in
            let effects = machine.prepared(preparation, result, now: now)
            isPresent = effects != nil
            return effects ?? []
        }
        return isPresent
    }

    private func fail(_ problem: FileProblem) {
        file.step { machine, now in machine.preparationFailed(preparation, problem, now: now) }
    }

    // MARK: - The core's copy

    private func prepareStored() async throws {
        var source = described.source
        if source == nil {
            // The core may fetch the file first; progress extends the wait.
            source = try await context.core.location(of: file.id) { [file, preparation] in
                file.step { machine, now in
                    machine.verifying(preparation, now: now)
                    return []
                }
            }
        }
        guard let source else { return fail(.noCopy) }
        do {
            let whole = try await open(source) {
                file.step { machine, now in
                    machine.verifying(preparation, now: now)
                    return []
                }
            }
            end(.whole(whole, cached: whole.cached))
        } catch  where Self.isDamagedCopy(error) {
            try await giveUp(source)
        }
    }

    /// Returns the verified copy. In the plain cache mode a plain copy, if there is space.
    /// - Parameter progress: Called as the verification proceeds.
    private func open(
        _ source: FileSourceLocation, progress: @escaping @Sendable () -> Void
    ) async throws -> WholeContent {
        if context.settings.cacheMode == .plain, let arguments = source.arguments {
            do {
                if let copy = try await plainCopy(of: source.path, arguments, progress) {
                    return WholeContent(.copy(copy))
                }
            } catch let error as HydrationError where error.code == .cache {
                // A cache error does not concern the stored file.
                context.failures.log.notice(
                    "file not copied into the cache, reading the stored copy: error="
                        + error.sentence)
            }
        }
        return try await WholeContent.open(
            source, size: described.size, verified: context.verified, progress: progress)
    }

    /// Returns nil if there is no space.
    private func plainCopy(
        of path: String, _ arguments: FileArguments, _ progress: @escaping @Sendable () -> Void
    ) async throws -> PlainCopy? {
        let size = described.size
        guard let cached = try await onPool({ try makeFile(size) }) else { return nil }
        return try await PlainCopy.decrypting(
            path, arguments, size: size, into: cached, usage: context.cache.usage, progress: progress)
    }

    // A method, because Swift 6.2.3 crashes on a typed `do` in a closure for the pool.
    private func makeFile(_ size: UInt64) throws(HydrationError) -> OpenFile? {
        guard context.reserveCapacity(size, for: file) else { return nil }
        do throws(SystemError) {
            return try context.cache.makeFile()
        } catch {
            throw HydrationError(cacheFile: error)
        }
    }

    /// Handles a damaged or missing durable copy: the file is downloaded again if possible.
    private func giveUp(_ source: FileSourceLocation) async throws {
        context.failures.log.warning("stored copy damaged: file=\(file.id.rawValue)")
        switch try await context.core.giveUpCopy(of: file.id, at: source) {
        case .offered(let item): file.step { machine, _ in machine.offeredAgain(preparation, item) }
        case .lost(let problem): fail(problem.logged)
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

    // MARK: - Chunks

    private func prepareRemote() async throws {
        guard let claim = try await claim() else {
            // Accepting now would make the core download the whole file later instead of the parts read.
            if described.status == .rcvInvitation(described: false) {
                end(.awaitingDescription)
            } else {
                try await receiveByCore()
                end(.awaitingCore)
            }
            return
        }
        do {
            let source = try await context.makeSource(claim)
            guard let layout = ChunkLayout(source.chunks) else {
                throw HydrationError(.damaged, "The file description names no chunks.")
            }
            guard ChunkPlan.fits(streamSize: layout.streamSize, content: described.size) else {
                throw HydrationError(.damaged, FileProblem.wrongLength.sentence)
            }
            let download = try await makeDownload(claim, source, layout)
            if !end(.chunks(download, layout, isReceivedByCore: claim.isReceivedByCore)) {
                await context.core.abandonClaim(file.id, problem: nil)
            }
        } catch {
            let problem = context.failures.problem(error, of: file.id, missing: 0, remains: claim.remains)
            await context.core.abandonClaim(file.id, problem: problem.isFinal ? problem : nil)
            fail(problem)
        }
    }

    private func makeDownload(
        _ claim: ClaimedFile, _ source: any ChunkSource, _ layout: ChunkLayout
    ) async throws -> Download {
        // Official writers use the same minimal header.
        let header = FileHeader.encode(name: described.name, contentSize: described.size)
        let stream = try await onPool {
            try context.cache.makeStream(layout, contentOffset: UInt64(header.count))
        }
        let pipeline = StoragePipeline(
            stream, source: source, contentSize: described.size,
            form: storageForm(of: claim),
            // The plain cache keeps all chunks and continues to serve reads after completion.
            servesReaders: context.settings.cacheMode != .plain,
            idleTimeout: context.settings.checkIdleTimeout
        ) { [weak file] pipeline, progress in
            guard let file, let download = file.download(of: pipeline) else { return }
            FileCompletion(of: file, download).noteProgress(progress)
        }
        return Download(source: source, stream: stream, pipeline: pipeline, remains: claim.remains)
    }

    private func storageForm(of claim: ClaimedFile) -> StorageWork.Form {
        if claim.isReceivedByCore { return .none }
        let folder = context.core.stagingFolder
        return claim.keepsStream ? .stream(folder: folder) : .content(folder: folder)
    }

    /// Claims the file. Returns nil if the core has no description yet or gives none.
    private func claim() async throws(ChatError) -> ClaimedFile? {
        do throws(ChatError) {
            return try await context.core.claimFile(file.id, approvedRelays: false)
        } catch {
            if error.code != .alreadyReceiving { throw error }
            return nil
        }
    }

    private func receiveByCore() async throws(ChatError) {
        do throws(ChatError) {
            try await context.core.receiveFile(file.id, approvedRelays: false)
        } catch {
            if error.code != .alreadyReceiving { throw error }
        }
    }
}
