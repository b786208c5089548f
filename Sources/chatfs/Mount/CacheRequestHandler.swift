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

    func answer(_ request: CacheRequest) async -> CacheAnswer {
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
        guard let entry = request.entry, let item = await fileSystem.item(at: NodeID(entry)),
            let file = item.file
        else {
            return await answer(request.action, notHandedOver: request.entry.map { NodeID($0) })
        }
        do throws(HydrationError) {
            switch request.action {
            case .show, .clear, .tryAgain: break
            case .cancel: return try await cancel(item, file)
            case .hydrate: return await hydrate(item)
            case .dehydrate:
                if hydrator.isPinned(file.id) {
                    return CacheAnswer(problem: "The file is pinned: run chatfs unpin first.")
                }
                guard await hydrator.dehydrateWhenSettled(file.id) else {
                    return CacheAnswer(problem: "The file is open: close it first.")
                }
            case .pin: try await hydrator.pin(item)
            case .unpin: try await hydrator.unpin(file.id)
            }
            return CacheAnswer()
        } catch {
            return CacheAnswer(problem: error.sentence, hasFailed: true)
        }
    }

    /// Answers for an entry that the core does not have yet.
    private func answer(_ action: CacheRequest.Action, notHandedOver entry: NodeID?) async -> CacheAnswer {
        do throws(FileSystemError) {
            if action == .cancel, let entry, try await fileSystem.takeBack(entry) { return CacheAnswer() }
            return CacheAnswer(problem: "This is not a file that was sent or received.")
        } catch {
            return CacheAnswer(problem: error.sentence)
        }
    }

    private func hydrate(_ item: ChatItem) async -> CacheAnswer {
        switch await requests.ask(item) {
        case .ended(let problem):
            CacheAnswer(
                problem: problem?.sentence,
                hasFailed: problem.map { !$0.isFinal && $0.kind != .notApproved })
        case .pending(let progress): CacheAnswer(isDone: false, progress: progress)
        }
    }

    private func cancel(
        _ item: ChatItem, _ file: ChatFile
    ) async throws(HydrationError) -> CacheAnswer {
        if item.direction == .received {
            guard file.status != .rcvComplete else {
                return CacheAnswer(problem: "The file is already local.")
            }
            // Before `unpin`, which ends the worker's download.
            let isComing = hydrator.condition(of: file.id).stage != .idle || hydrator.isPinned(file.id)
            keeping.decline(item)
            try await hydrator.unpin(file.id)
            await requests.cancel(file.id)
            guard await hydrator.cancel(file.id) else {
                return CacheAnswer(problem: "The file is already local.")
            }
            switch file.status {
            case .rcvAccepted, .rcvTransfer, .rcvWarning: break
            default: return CacheAnswer(problem: isComing ? nil : "The file is not being received.")
            }
        }
        do throws(ChatError) {
            try await core.cancelFile(file.id)
            return CacheAnswer()
        } catch {
            return CacheAnswer(problem: error.sentence)
        }
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
