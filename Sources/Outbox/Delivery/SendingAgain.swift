import ChatCore
import Glibc
import Posix

extension Outbox {
    /// Sends the file of a message whose upload failed permanently, in a new message. A repeated call returns
    /// the same message.
    ///
    /// - Parameter source: The core's copy of the file, which stays.
    /// - Throws: `.noSuchFile` if the file is gone; errors of the core.
    public func sendAgain(
        _ item: ChatItem, from source: FileSourceLocation
    ) async throws(ChatError) -> ChatItem {
        guard let file = item.file else {
            throw ChatError(.noSuchFile, "This message has no file.")
        }
        // If this process dies before the core has the file, a later start deletes this name.
        let staged = "\(core.stagingFolder)/send-again-\(item.id.rawValue)"
        let failure = await ThreadPool.shared.run { () -> Int32 in
            unlink(staged)
            return link(source.path, staged) == 0 ? 0 : errno
        }
        guard failure == 0 else {
            throw ChatError(
                .noSuchFile, "The file is not on this machine any more: copy it in again.",
                cause: SystemError(code: failure, operation: "stage a file that is sent again"))
        }
        let message = ComposedMessage(
            id: "again-\(item.id.rawValue)", fileName: file.name, size: file.size,
            source: FileSourceLocation(path: staged, arguments: source.arguments), content: item.content,
            modified: item.time)
        do throws(ChatError) {
            let completed = try await completed(message)
            let sent = try await core.send(completed, to: item.chat)
            if completed.source.path != staged { await ThreadPool.shared.run { _ = unlink(staged) } }
            return sent
        } catch {
            await ThreadPool.shared.run { _ = unlink(staged) }
            throw error
        }
    }
}
