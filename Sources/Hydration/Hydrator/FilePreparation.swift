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
        context.dropUnused(file.id)
        do {
            let whole = try await context.openStored(source, size: described.size, for: file) {
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
        let turn = context.claims.take(file.id)
        await context.claims.begin(turn)
        defer { context.claims.end(turn) }
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
            let unchecked = download.store.unchecked
            if !end(
                .chunks(
                    download, layout, isReceivedByCore: claim.isReceivedByCore, unchecked: unchecked))
            {
                if !context.registry.isClosed { try await onPool { download.store.deleteName() } }
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
        let start = UInt64(FileHeader.encode(name: described.name, contentSize: described.size).count)
        let form: ChunkStore.Form =
            claim.isReceivedByCore ? .none : claim.keepsStream ? .stream : .content
        let store = try await onPool {
            try context.cache.makeStore(
                file.id, layout, source.arguments, form, content: start..<start + described.size)
        }
        return Download(source: source, store: store, remains: claim.remains)
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
