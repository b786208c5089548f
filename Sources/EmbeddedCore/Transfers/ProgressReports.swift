import ChatCore

/// How far running transfers are: for who asks, and told as events.
struct ProgressReports: Sendable {
    let scheduler: TransferScheduler
    let events: EventHub

    /// - Parameter item: as it was when the transfer began; nil for a file that belongs to no chat.
    func report(_ progress: TransferProgress, of file: FileID, item: ChatItem?) {
        guard scheduler.note(progress, of: file) else { return }
        guard var item else {
            return events.tell(.standaloneFileProgress(file, done: progress.done, total: progress.total))
        }
        if item.direction == .sent {
            item.file?.status = .sndTransfer(sent: progress.done, total: progress.total)
            events.tell(.sndFileProgressXFTP(item, sent: progress.done, total: progress.total))
        } else {
            item.file?.status = .rcvTransfer(received: progress.done, total: progress.total)
            events.tell(.rcvFileProgressXFTP(item, received: progress.done, total: progress.total))
        }
    }
}
