import Base
import ChatCore
import Posix
import Store

/// Blocking work on the index, and how a change of it is told.
extension OfficialCore {
    /// For the blocking work of the index.
    static let pool = ThreadPool(name: "index", threads: 2)

    static func onPool<Result: Sendable>(
        _ body: @escaping @Sendable () throws -> Result
    ) async throws(ChatError) -> Result {
        do {
            return try await pool.run(body)
        } catch {
            throw ChatError(ofOfficialCore: error)
        }
    }

    func work<Result: Sendable>(
        _ body: @escaping @Sendable () throws -> Result
    ) async throws(ChatError) -> Result {
        try await Self.onPool(body)
    }

    /// What the core has done already: when it cannot be noted the log says so, and the next comparison with the
    /// core finds it.
    func attempt<Result: Sendable>(_ deed: String, _ body: @escaping @Sendable () throws -> Result) async {
        do throws(ChatError) {
            _ = try await work(body)
        } catch {
            log.warning("could not \(deed): \(sentenceWithCauses(of: error))")
        }
    }

    /// Changes the index, then tells. Blocks.
    @discardableResult
    func commit<Result>(durably: Bool = false, _ body: (Change) throws -> Result) throws -> Result {
        try hub.publish { reserve in
            var change: Change?
            let step = { (connection: Connection) -> Result in
                reserve()
                let begun = Change(
                    connection: connection, own: self.profile.displayName,
                    filesFolder: self.settings.filesFolder)
                change = begun
                return try body(begun)
            }
            let result = try durably ? index.durableTransaction(step) : index.transaction(step)
            guard let change else { return (result, []) }
            for folder in change.abandonedFolders { removeStaged(folder) }
            for copy in change.abandonedCopies { removeFile(copy) }
            if change.beginsWalk { signalHistory() }
            return (result, change.events)
        }
    }
}

extension ChatError {
    /// What an error from beneath means for who gave the command.
    init(ofOfficialCore error: any Error) {
        switch error {
        case let error as ChatError: self = error
        case let error as OfficialCoreError: self = error.chatError
        case let error as StoreError where error.code == .diskFull:
            self.init(.file(.noSpace), error.sentence, cause: error)
        case let error as StoreError where error.code == .wrongVersion:
            self.init(.wrongVersion, error.sentence, cause: error)
        default: self.init(.storage, Base.sentence(of: error), cause: error)
        }
    }
}
