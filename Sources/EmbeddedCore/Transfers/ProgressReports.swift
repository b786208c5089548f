import ChatCore

/// Records the progress of running transfers and publishes it as events.
struct ProgressReports: Sendable {
    let scheduler: TransferScheduler
    let events: EventHub

    /// Reports progress, unless the transfer was told to end.
    ///
    /// - Parameter item: item at the transfer's start, used for its ids only; nil for a standalone file.
    func report(_ progress: TransferProgress, of file: FileID, item: ChatItem?) {
        guard scheduler.note(progress, of: file) else { return }
        guard let item else {
            return events.tell(.standaloneFileProgress(file, done: progress.done, total: progress.total))
        }
        events.tell(
            .fileProgress(FileProgress(of: file, in: item, done: progress.done, total: progress.total)))
    }
}
