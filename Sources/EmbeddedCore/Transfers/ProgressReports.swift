import ChatCore

/// How far running transfers are: for who asks, and told as events.
struct ProgressReports: Sendable {
    let scheduler: TransferScheduler
    let events: EventHub

    /// Tells how far a transfer is. Nothing once its task was told to end.
    ///
    /// - Parameter item: as it was when the transfer began, of which only the identifiers are told; nil for a file that
    ///   belongs to no chat.
    func report(_ progress: TransferProgress, of file: FileID, item: ChatItem?) {
        guard scheduler.note(progress, of: file) else { return }
        guard let item else {
            return events.tell(.standaloneFileProgress(file, done: progress.done, total: progress.total))
        }
        let told = FileProgress(of: file, in: item, done: progress.done, total: progress.total)
        events.tell(item.direction == .sent ? .sndFileProgressXFTP(told) : .rcvFileProgressXFTP(told))
    }
}
