import ChatCore

/// Collects the evidence about a draft whose quiet time is over and returns the verdict. Reads proc(5) for
/// writers that have just ended and looks up names in the folder. Thread-safe; blocks.
struct CompletionCheck: Sendable {
    let directory: DraftDirectory

    func verdict(on draft: Draft) -> DraftCompletion.Verdict {
        var completion = draft.completion
        let name = draft.snapshot.name
        completion.hasStateFile = StateFileName.about(name).contains { isThere($0, draft.chat) }
        completion.isStateFile = StateFileName.subject(of: name).map { isThere($0, draft.chat) } ?? false
        if PartPath(name) == nil {
            completion.localFile = LocalFileName.reason(for: name, writers: completion.writers) {
                isThere($0, draft.chat)
            }
        }
        return completion.verdict
    }

    private func isThere(_ name: [UInt8], _ chat: ChatReference) -> Bool {
        directory.holds(name, in: chat)
    }
}
