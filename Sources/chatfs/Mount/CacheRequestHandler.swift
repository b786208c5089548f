import Base
import ChatCore
import Desktop
import FileSystem
import Glibc
import Hydration
import Namespace
import Posix

/// Carries out cache requests for entries of this mount.
struct CacheRequestHandler: Sendable {
    let hydrator: Hydrator
    let fileSystem: FileSystem
    let core: any ChatCore
    let keeping: KeepWorker

    private let requests: HydrationRequests

    init(hydrator: Hydrator, fileSystem: FileSystem, core: any ChatCore, keeping: KeepWorker) {
        self.hydrator = hydrator
        self.core = core
        self.fileSystem = fileSystem
        self.keeping = keeping
        requests = HydrationRequests(hydrator)
    }

    /// - Throws: `.failed` if the request may succeed later, else `.refused`.
    func answer(_ request: CacheRequest) async throws(ProgramError) -> CacheAnswer {
        do {
            return try await carryOut(request)
        } catch let error as ProgramError {
            throw error
        } catch let error as HydrationError {
            throw ProgramError(.failed, error.sentence, cause: error)
        } catch let error as FileSystemError where error.isFailure {
            throw ProgramError(.failed, error.sentence, cause: error)
        } catch {
            throw ProgramError(.refused, sentence(of: error), cause: error)
        }
    }

    private func carryOut(_ request: CacheRequest) async throws -> CacheAnswer {
        switch request.action {
        case .show: return CacheAnswer(cache: state())
        case .clear:
            hydrator.clearCache()
            return CacheAnswer(cache: state())
        case .tryAgain:
            hydrator.tryAgain()
            await core.relaysWereApproved()
            keeping.tryAgain()
            return CacheAnswer()
        case .cancel, .hydrate, .dehydrate, .pin, .unpin: break
        }
        guard let entry = request.entry, let item = try await fileSystem.item(at: NodeID(entry)),
            let file = item.file
        else {
            // The core may not have the entry yet.
            guard request.action == .cancel, let number = request.entry,
                try await fileSystem.takeBack(NodeID(number))
            else { throw ProgramError(.refused, "This is not a file that was sent or received.") }
            return CacheAnswer()
        }
        switch request.action {
        case .show, .clear, .tryAgain: break
        case .cancel: try await cancel(item, file)
        case .hydrate: return try await hydrate(item)
        case .dehydrate:
            if hydrator.isPinned(file.id) {
                throw ProgramError(.refused, "The file is pinned: run chatfs unpin first.")
            }
            guard await hydrator.dehydrateWhenSettled(file.id) else {
                throw ProgramError(.refused, "The file is open: close it first.")
            }
        case .pin: try await hydrator.pin(item)
        case .unpin: try await hydrator.unpin(file.id)
        }
        return CacheAnswer()
    }

    private func hydrate(_ item: ChatItem) async throws(ProgramError) -> CacheAnswer {
        switch await requests.ask(item) {
        case .ended(nil): return CacheAnswer()
        case .ended(let problem?):
            throw ProgramError(
                problem.isFinal || problem.kind == .notApproved ? .refused : .failed, problem.sentence)
        case .pending(let progress): return CacheAnswer(isDone: false, progress: progress)
        }
    }

    private func cancel(_ item: ChatItem, _ file: ChatFile) async throws {
        let alreadyLocal = ProgramError(.refused, "The file is already local.")
        if item.direction == .received {
            guard file.status != .rcvComplete else { throw alreadyLocal }
            // Before `unpin`, which ends the worker's download.
            let isComing = hydrator.condition(of: file.id).stage != .idle || hydrator.isPinned(file.id)
            keeping.decline(item)
            try await hydrator.unpin(file.id)
            await requests.cancel(file.id)
            guard await hydrator.cancel(file.id) else { throw alreadyLocal }
            switch file.status {
            case .rcvAccepted, .rcvTransfer, .rcvWarning: break
            case _ where isComing: return
            default: throw ProgramError(.refused, "The file is not being received.")
            }
        }
        try await core.cancelFile(file.id)
    }

    /// Resumes files that an earlier mount left pinned, unfinished or partly received, and drops the rest of deleted ones.
    func resume() async {
        for file in hydrator.filesOfEarlierMounts.sorted() {
            do throws(ChatError) {
                if let item = try await core.item(of: file) {
                    hydrator.resume(item)
                } else {
                    hydrator.remove(file)
                }
            } catch {
                // The next mount retries.
                Log("mount").warning("pinned or unfinished file not resumed: error=\(error.sentence)")
            }
        }
    }

    private func state() -> CacheAnswer.State {
        let report = hydrator.cacheReport()
        return CacheAnswer.State(
            mode: report.mode.rawValue, bytesOnDisk: report.bytesOnDisk, limit: report.limit,
            minimumFree: report.minimumFree, free: report.free, files: report.files, pinned: report.pinned)
    }
}
