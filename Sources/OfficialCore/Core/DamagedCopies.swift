import ChatCore

/// Received files whose copy turned out to be damaged. The core itself fetches nothing a second time, so the good
/// copy becomes one of ours (`KeptCopies`); the core's own file stays as it is, for it belongs to the core.
extension OfficialCore {
    /// How such a file stands in the index until then: as one that the core gave up.
    static let damagedCopy = FileStatus.rcvError(
        FileProblem(.other, "The stored copy of this file is damaged: reading it fetches it once more."))

    public func giveUpCopy(
        of file: FileID, at location: FileSourceLocation
    ) async throws(ChatError) -> GivenUpCopy {
        guard mayFetchItself, let text = try await description(of: file), await mayBeFetched(text) else {
            return .lost(.damagedCopy)
        }
        let item = try await work { [self] in
            try commit(durably: true) { change -> ChatItem? in
                let connection = change.connection
                guard let item = try ItemRows.item(of: file, connection), item.direction == .received else {
                    return nil
                }
                let kept = try KeptCopies.source(of: file, connection)
                // Another copy has come meanwhile, or somebody else has said it.
                guard item.file?.status == .rcvComplete, kept == nil || kept == location else { return item }
                // The next one takes the place of its file.
                _ = try KeptCopies.forget(file, connection)
                try change.setStatus(Self.damagedCopy, of: file) { .chatItemUpdated($0) }
                return try ItemRows.item(of: file, connection)
            }
        }
        return item.map(GivenUpCopy.offered) ?? .lost(.damagedCopy)
    }
}
