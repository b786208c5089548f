import ChatCore
import Desktop
import FileSystem
import Hydration
import Namespace

/// What commands wish of the cache of this mount, in terms of its entries.
struct CacheWishes: Sendable {
    let hydrator: Hydrator
    let fileSystem: FileSystem

    /// Longest wait for a file before the command hears how far it is.
    private static let slice = Duration.seconds(1)

    func grant(_ wish: CacheWish) async -> CacheAnswer {
        switch wish.action {
        case .show: return CacheAnswer(cache: state())
        case .clear:
            hydrator.clearCache()
            return CacheAnswer(cache: state())
        case .tryAgain:
            hydrator.tryAgain()
            return CacheAnswer()
        case .hydrate, .dehydrate, .pin, .unpin: break
        }
        guard let entry = wish.entry, let item = fileSystem.item(at: NodeID(entry)), let file = item.file
        else {
            return CacheAnswer(problem: "This is not a file that was sent or received.")
        }
        do throws(HydrationError) {
            switch wish.action {
            case .show, .clear, .tryAgain: break
            case .hydrate: return await hydrate(item, file.id)
            case .dehydrate:
                if hydrator.isPinned(file.id) {
                    return CacheAnswer(problem: "The file is pinned: run chatfs unpin first.")
                }
                guard hydrator.dehydrate(file.id) else {
                    return CacheAnswer(problem: "The file is open: close it first.")
                }
            case .pin: try await hydrator.pin(item)
            case .unpin: try await hydrator.unpin(file.id)
            }
            return CacheAnswer()
        } catch {
            return CacheAnswer(problem: error.sentence)
        }
    }

    private func hydrate(_ item: ChatItem, _ file: FileID) async -> CacheAnswer {
        let answer = await withTaskGroup(of: CacheAnswer?.self) { group in
            group.addTask {
                let problem = await hydrator.hydrate(item)
                return Task.isCancelled ? nil : CacheAnswer(problem: problem?.sentence)
            }
            group.addTask {
                try? await Task.sleep(for: Self.slice)
                return nil
            }
            let first = await group.next() ?? nil
            group.cancelAll()
            return first
        }
        return answer ?? CacheAnswer(isDone: false, progress: hydrator.condition(of: file).progress)
    }

    /// Brings what is pinned back, after an earlier mount.
    func receivePinned() async {
        await fileSystem.everythingShown()
        for file in hydrator.pinnedFiles.sorted() {
            if let item = fileSystem.item(of: file) { hydrator.resume(item) }
        }
    }

    private func state() -> CacheAnswer.State {
        let report = hydrator.cacheReport()
        return CacheAnswer.State(
            mode: report.mode.rawValue, bytesOnDisk: report.bytesOnDisk, limit: report.limit,
            minimumFree: report.minimumFree, free: report.free, files: report.files, pinned: report.pinned)
    }
}
