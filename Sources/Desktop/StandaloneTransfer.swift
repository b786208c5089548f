import Base
import ChatCore

/// A transfer of a file without a chat. It ends with its client, because only the client would get the link or use the
/// file.
public final class StandaloneTransfer: Sendable {
    private let core: any ChatCore
    private let file: FileID?
    private let standing: Lock<(state: StandaloneState, following: Task<Void, Never>?)>

    /// The current progress.
    public var state: StandaloneState { standing.withLock { $0.state } }

    /// Begins a transfer. A refused transfer is over at once, with its problem.
    public static func begin(
        _ request: StandaloneRequest, on core: any ChatCore
    ) async -> StandaloneTransfer {
        // Subscribed before the transfer begins, so that no event is lost.
        let events = core.events()
        do throws(ChatError) {
            let file: FileID
            switch request.action {
            case .upload: file = try await core.uploadStandaloneFile(request.path ?? "")
            case .download:
                file = try await core.downloadStandaloneFile(request.link ?? "", to: request.path ?? "")
            case .cancel:
                try await core.cancelStandaloneFile(FileID(request.file ?? 0))
                var done = StandaloneState()
                done.isOver = true
                return StandaloneTransfer(core, nil, done)
            }
            var begun = StandaloneState()
            begun.file = file.rawValue
            let transfer = StandaloneTransfer(core, file, begun)
            transfer.follow(file, events)
            return transfer
        } catch {
            return StandaloneTransfer(core, nil, StandaloneState(problem: error.sentence))
        }
    }

    private init(_ core: any ChatCore, _ file: FileID?, _ state: StandaloneState) {
        self.core = core
        self.file = file
        standing = Lock((state, nil))
    }

    /// Cancels the transfer and removes its remains. Waits at most ten seconds; an unreachable core is told later.
    public func cancel() async {
        guard let file, end(problem: "The transfer was cancelled.") else { return }
        standing.withLock { $0.following }?.cancel()
        let cancelling = Task { [core] in
            do throws(ChatError) {
                try await core.cancelStandaloneFile(file)
            } catch {
                log.notice("standalone transfer not cancelled: error=\(error.sentence)")
            }
        }
        // A task of its own, because a cancelled calling task would not wait.
        await Task { _ = await cancelling.result(within: .seconds(10)) }.value
    }

    /// Cancels the transfer because the client hung up before it got the link.
    func withdraw() async {
        standing.withLock { $0.state.isOver = $0.state.isOver && $0.state.link == nil }
        await cancel()
    }

    /// Returns false if the transfer was over.
    private func end(problem: String) -> Bool {
        standing.withLock { standing in
            guard !standing.state.isOver else { return false }
            (standing.state.problem, standing.state.isOver) = (problem, true)
            return true
        }
    }

    private func follow(_ file: FileID, _ events: AsyncStream<ChatEvent>) {
        let task = Task { [standing] in
            for await event in events {
                let isOver = standing.withLock { standing in
                    standing.state.take(event, of: file)
                    return standing.state.isOver
                }
                if isOver { return }
            }
            if !Task.isCancelled {
                _ = self.end(problem: "The mount was left before the transfer was complete.")
            }
        }
        standing.withLock { $0.following = task }
    }
}

extension StandaloneState {
    fileprivate mutating func take(_ event: ChatEvent, of file: FileID) {
        switch event {
        case .standaloneFileProgress(file, let done, let total):
            (self.done, self.total, warning) = (done, total, nil)
        case .standaloneFileWarning(file, let problem): warning = problem.sentence
        case .sndStandaloneFileComplete(file, let links):
            link = links.first
            if link == nil { problem = "The core gave no link to the file." }
            isOver = true
        case .rcvStandaloneFileComplete(file, _): isOver = true
        case .sndStandaloneFileError(file, let problem), .rcvStandaloneFileError(file, let problem):
            self.problem = problem.sentence
            isOver = true
        default: break
        }
    }
}
