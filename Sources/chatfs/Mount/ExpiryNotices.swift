import Base
import ChatCore
import FileSystem
import Keeping
import Posix

/// Reports expiring files to the user, programs and the log, each once across mounts.
struct ExpiryNotices: Sendable {
    let store: KeepStore
    let fileSystem: FileSystem
    let whenExpiring: @Sendable ([EntryDescription]) -> Void

    /// Reports the new candidates. Records them first, because a missing notice is better than a repeated one.
    func tell(_ candidates: [KeepCandidate]) async {
        guard !candidates.isEmpty else { return }
        let log = Log("keep")
        do throws(KeepingError) {
            let untold = try await ThreadPool.shared.run { () throws(KeepingError) in
                try store.untold(candidates)
            }
            var entries: [FileID: EntryDescription] = [:]
            for candidate in untold {
                // Candidates without an entry are reported by a later scan.
                entries[candidate.file] = await fileSystem.lister.entry(
                    of: candidate.item, in: candidate.chat)
            }
            let shown = untold.filter { entries[$0.file] != nil }
            guard !shown.isEmpty else { return }
            let new = try await ThreadPool.shared.run { () throws(KeepingError) in
                try store.noteTold(shown)
            }
            let told = new.compactMap { entries[$0.file] }
            log.notice("remote files expire soon: count=\(told.count)")
            fileSystem.tellExpiring(told.map(\.id))
            whenExpiring(told)
        } catch {
            log.warning("expiring files not reported: error=\(error.sentence)")
        }
    }
}
